import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'

export interface HttpAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type; tests match its shape
  body: any
  headers: Record<string, string | string[] | undefined>
}

/**
 * Sends one request to a server of this machine under the name in the URL. Node does not resolve `*.localhost` itself.
 *
 * @param options `port`: of the server on this machine, where the URL names a proxy before it
 */
export function ask(
  method: string,
  url: string,
  {
    headers = {},
    body,
    port: ownPort,
  }: { headers?: Record<string, string>; body?: string | Buffer | object; port?: number | undefined } = {},
): Promise<HttpAnswer> {
  const { host, hostname, port: namedPort, pathname, search } = new URL(url)
  const port = ownPort ?? namedPort
  const json = body !== undefined && typeof body === 'object' && !Buffer.isBuffer(body)
  const payload = json ? JSON.stringify(body) : (body as string | Buffer | undefined)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: ownPort !== undefined || /(^|\.)localhost$/.test(hostname) ? '127.0.0.1' : hostname,
        port,
        path: `${pathname}${search}`,
        method,
        agent: false, // The server may have just closed a kept-alive connection.
        headers: {
          host,
          ...(payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }),
          ...(json ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = /\bjson\b/.test(incoming.headers['content-type'] ?? '')
          resolve({
            status: incoming.statusCode ?? 0,
            body: isJson && text ? JSON.parse(text) : text,
            headers: incoming.headers,
          })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

/** A game developer's program with one API token, which sends and receives JSON. */
export function program(portal: string, token: string) {
  const headers = { authorization: `Bearer ${token}` }
  return {
    get: (path: string) => ask('GET', `${portal}${path}`, { headers }),
    post: (path: string, body?: object) => ask('POST', `${portal}${path}`, { headers, ...(body ? { body } : {}) }),
  }
}

/** Returns every file of a folder in the format of `POST /api/deploy`. */
export function filesOf(folder: string): { path: string; size: number; sha256: string }[] {
  return globSync('**', { cwd: folder })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => {
      const bytes = readFileSync(join(folder, path))
      return { path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
    })
}

/**
 * Deploys a folder through the HTTP API, as any client would: announces the files, uploads the missing ones, and
 * finalizes.
 */
export async function deployFolder(portal: string, token: string, gameId: string, folder: string) {
  const { post } = program(portal, token)
  const begun = await post('/api/deploy', { gameId, files: filesOf(folder) })
  if (begun.status !== 201 && begun.status !== 200)
    throw new Error(`deploy: ${begun.status} ${JSON.stringify(begun.body)}`)
  for (const { path, uploadUrl, method, headers } of begun.body.uploads) {
    const stored = await ask(method, uploadUrl, { headers, body: readFileSync(join(folder, path)) })
    if (stored.status >= 300) throw new Error(`upload of ${path}: ${stored.status} ${JSON.stringify(stored.body)}`)
  }
  const done = await post(`/api/deploy/${begun.body.deployId}/finalize`)
  if (done.status !== 200) throw new Error(`finalize: ${done.status} ${JSON.stringify(done.body)}`)
  return { ...done.body, deployId: begun.body.deployId, uploaded: begun.body.uploads.length }
}
