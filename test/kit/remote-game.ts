import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { signUpAt } from './remote-sign-up.ts'

/** A game on a server in a separate process, and its developer. */
export interface PublishedGame {
  id: string
  slug: string
  /** The developer's name. */
  name: string
  /** The cookie of the developer's session at the portal. */
  cookie: string
}

/** Signs up a developer at a server in a separate process, and publishes a game with these files. */
export async function publishAt(portal: string, files: Record<string, string>): Promise<PublishedGame> {
  const name = 'Maker'
  const headers = await signUpAt(portal, name)
  const ask = async (path: string, body: unknown = {}) => {
    const answer = await fetch(portal + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return answer.json()
  }
  const scopes = ['games:write', 'deployments:write']
  const { token } = await ask('/api/tokens', { label: 'test', scopes, expiresInDays: null })
  const { cookie = '' } = headers
  Object.assign(headers, { authorization: `Bearer ${token}`, cookie: '' })
  const { id, slug } = await ask('/api/games', { title: 'Pong', description: 'A game.', settings: { multiplayer: {} } })
  const list = Object.entries(files).map(([path, content]) => ({
    path,
    size: Buffer.byteLength(content),
    sha256: createHash('sha256').update(content).digest('hex'),
  }))
  const { deployId, uploads } = await ask('/api/deploy', { gameId: id, files: list })
  for (const { path, uploadUrl, method, headers } of uploads) {
    const stored = await fetch(uploadUrl, { method, headers, body: files[path] ?? '' })
    if (!stored.ok) throw new Error(await stored.text())
  }
  await ask(`/api/deploy/${deployId}/finalize`)
  return { id, slug, name, cookie }
}

/** Sends this machine a request for any host name, as its proxy would. */
export function ask(port: number, url: string, headers: Record<string, string> = {}) {
  const { host, pathname, search } = new URL(url)
  return new Promise<{ status: number; location: string | undefined; cookies: string[]; body: string }>(
    (resolve, reject) => {
      const around = { host, 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1', ...headers }
      const answered = async (response: IncomingMessage) =>
        resolve({
          status: response.statusCode ?? 0,
          location: response.headers.location,
          cookies: (response.headers['set-cookie'] ?? []).map((line) => line.split(';')[0] as string),
          body: await text(response),
        })
      get({ host: '127.0.0.1', port, path: pathname + search, headers: around }, (response) =>
        answered(response).catch(reject),
      ).on('error', reject)
    },
  )
}

/** Signs a player of the portal in to a game, as a browser does. @returns the game's cookie */
export async function signInAt(port: number, game: string, portalCookie: string): Promise<string> {
  const started = await ask(port, `${game}/auth/service/start`)
  const authorized = await ask(port, started.location ?? '', { cookie: portalCookie })
  const callback = authorized.location ?? ''
  if (!callback.startsWith(`${game}/auth/service/callback?`)) throw new Error(`It leads to ${callback}.`)
  const back = await ask(port, callback, { cookie: started.cookies.join('; ') })
  if (back.status !== 302) throw new Error(`The sign-in ended with ${back.status}: ${back.body}`)
  return back.cookies.find((one) => /(service_session|gameyard_game_\d+)=./.test(one)) ?? ''
}
