import type { Test } from 'tap'
import { type Platform, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

/** Builds a form with a file as bytes, and its content-type header. */
export function form(file: Uint8Array, fields: Record<string, string> = {}, name = 'model.glb') {
  const boundary = 'gameyard-test-boundary'
  const parts = Object.entries(fields).map(
    ([field, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  )
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`
  const payload = Buffer.concat([
    Buffer.from(parts.join('')),
    Buffer.from(head),
    file,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  return { payload, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } }
}

/**
 * Starts a platform with assets on a real socket, with the tokens of an owner and another player, and a function for
 * arbitrary HTTP requests.
 */
export async function startAssets(t: Test, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, { listen: true, ...options })
  const owner = await platform.signUp()
  const other = await platform.signUp()
  const tokens = {
    owner: (await platform.program(owner)).token,
    other: (await platform.program(other)).token,
    unscoped: (await platform.program(owner, ['games:read'])).token,
  }
  const base = platform.portal.replace('localhost', '127.0.0.1')
  const host = new URL(platform.portal).host
  /** @param as the player whose token is sent; by default none */
  const ask = async (
    path: string,
    { as, headers, method = 'GET', body }: AskOptions = {},
  ): Promise<{ status: number; headers: Record<string, string>; body: Buffer; json: () => unknown }> => {
    const { request } = await import('node:http')
    const sent = { host, ...(as ? { authorization: `Bearer ${tokens[as]}` } : {}), ...headers }
    return new Promise((resolve, reject) => {
      const outgoing = request(base + path, { method, headers: sent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const bytes = Buffer.concat(chunks)
          const json = () => JSON.parse(bytes.toString())
          resolve({ status: response.statusCode ?? 0, headers: response.headers as never, body: bytes, json })
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
  const upload = async (file: Uint8Array, fields: Record<string, string> = {}, name?: string) => {
    const { payload, headers } = form(file, fields, name)
    const length = { 'content-length': String(payload.length) }
    const answer = await ask('/api/assets', {
      as: 'owner',
      method: 'POST',
      body: payload,
      headers: { ...headers, ...length },
    })
    // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type
    return { status: answer.status, body: answer.json() as any }
  }
  return { platform, owner, other, ask, upload, host }
}

/** Waits until an asset is prepared. @param seconds the limit on an idle machine */
export const untilPrepared = ({ app }: Platform, assetId: string, seconds?: number) =>
  until(async () => {
    const waiting = `select id from background_jobs where name = 'assets/prepare' and "key" = ?`
    return (await app.db.query(waiting, [assetId])).length === 0
  }, seconds)

interface AskOptions {
  as?: 'owner' | 'other' | 'unscoped' | undefined
  headers?: Record<string, string>
  method?: string
  body?: Uint8Array
}
