// What the tests of a cluster do again and again.
import { createHash } from 'node:crypto'
import { ask } from '../kit/upload.ts'
import { Visitor } from '../kit/visitor.ts'

export const PASSWORD = 'correct yard battery fence'

let people = 0

/** Somebody new, signed in. */
export async function signUp(
  portal: string,
  name: string,
  visitor = new Visitor(),
): Promise<Visitor & { email: string }> {
  const email = `${name.toLowerCase()}${++people}@cluster.example`
  const answer = await visitor.post(`${portal}/api/auth/sign-up`, { email, password: PASSWORD, name })
  if (answer.status !== 201) throw new Error(`sign-up: ${answer.status} ${JSON.stringify(answer.body)}`)
  return Object.assign(visitor, { email })
}

/** An API token of a player. */
export async function tokenOf(player: Visitor, portal: string, scopes: string[]): Promise<string> {
  const { status, body } = await player.post(`${portal}/api/tokens`, { label: 'test', scopes })
  if (status !== 201) throw new Error(`token: ${status} ${JSON.stringify(body)}`)
  return body.token
}

/** Asks with a token. The answer's status is 2xx, or it throws. */
export type Call = (method: string, url: string, options?: Parameters<typeof ask>[2]) => ReturnType<typeof ask>

/**
 * Deploys one page, through the API as any client does.
 *
 * @param game id of a game, or the title of a new one
 */
export async function deployPage(portal: string, token: string, game: string, html: string, call: Call = mustAsk) {
  const headers = { authorization: `Bearer ${token}` }
  const known = /^gam_/.test(game)
  const { body: record } = known
    ? await call('GET', `${portal}/api/games/${game}`, { headers })
    : await call('POST', `${portal}/api/games`, { headers, body: { title: game, description: 'A game.' } })
  const { body: live } = await deployFiles(portal, token, record.id, new Map([['index.html', Buffer.from(html)]]), {
    call,
  })
  return { game: record, live }
}

/**
 * Deploys files through the API as any client does: announce, upload to the storage, finalize.
 *
 * @param game id or slug
 * @param options `room`: the path of the room script
 */
export async function deployFiles(
  portal: string,
  token: string,
  game: string,
  files: ReadonlyMap<string, Buffer>,
  { room, call = mustAsk }: { room?: string; call?: Call } = {},
) {
  const headers = { authorization: `Bearer ${token}` }
  const announced = Array.from(files, ([path, bytes]) => {
    return { path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  })
  const body = { gameId: game, files: announced, ...(room === undefined ? {} : { room }) }
  const { body: begun } = await call('POST', `${portal}/api/deploy`, { headers, body })
  for (const { path, uploadUrl, method, headers } of begun.uploads)
    await call(method, uploadUrl, { headers, body: files.get(path) as Buffer })
  return call('POST', `${portal}/api/deploy/${begun.deployId}/finalize`, { headers })
}

/** Asks, and throws for whatever is no success. */
export const mustAsk: Call = async (method, url, options) => {
  const answer = await ask(method, url, options)
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}
