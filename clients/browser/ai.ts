/**
 * AI for the pages of hosted games, on the credits of the player who is signed in, without a server and a token:
 *
 *   import { generate } from '/__service/ai.js'
 *   const { result } = await generate({ prompt: 'Greet a knight in five words.' })
 *
 * The player first allows the game a number of credits a day. Until then it rejects with the code `ai_not_allowed`,
 * and `allowUrl` is the page for it, to open in a new tab from a click.
 */

import { readEvents } from './ai/events.ts'
import {
  AiError,
  type Generated,
  type Image,
  type ImageRequest,
  type ObjectRequest,
  type TextRequest,
} from './ai/types.ts'
import { FRAME_SESSION_CHANGED } from './frame/hook.ts'
import { readSession, type Session } from './player/session.ts'
import { retryAfter } from './retry-after.ts'

export {
  AiError,
  type Generated,
  type Image,
  type ImageRequest,
  type ObjectRequest,
  type TextRequest,
} from './ai/types.ts'

const ADDRESS = '/__service/ai'

/** The session of this page. */
let session: Promise<Session | null> = Promise.resolve(null)
const refresh = () => {
  session = readSession()
}
if (typeof addEventListener === 'function') {
  // Another player may sign in to this game in another tab. This page names its own, who alone pays for it.
  refresh()
  addEventListener(FRAME_SESSION_CHANGED, refresh)
}

/**
 * Generates a text, an object or an image. It is asked once; who calls it again pays again.
 *
 * @throws AiError with the `code` of the refusal; nothing is charged then
 */
export function generate(request: TextRequest): Promise<Generated<string>>
export function generate<Result = unknown>(request: ObjectRequest): Promise<Generated<Result>>
export function generate(request: ImageRequest): Promise<Generated<Image>>
export async function generate(request: TextRequest | ObjectRequest | ImageRequest): Promise<Generated<unknown>> {
  const { signal, onText, ...body } = { type: 'text', onText: undefined, ...request }
  const answer = await send({ ...body, ...(onText ? { stream: true } : {}) }, signal)
  return onText ? readText(answer, onText) : ((await readJson(answer)) as unknown as Generated<unknown>)
}

/** Returns an image as a data URL, for `<img>` and texture loaders. */
export const dataUrl = ({ b64Json, contentType }: Image): string => `data:${contentType};base64,${b64Json}`

async function send(body: object, signal: AbortSignal | undefined): Promise<Response> {
  const player = await playerOfPage()
  const headers = { 'content-type': 'application/json', ...(player ? { 'service-player': player } : {}) }
  const options = { method: 'POST', headers, body: JSON.stringify(body) }
  const answer = await fetch(ADDRESS, { ...options, cache: 'no-store', ...(signal ? { signal } : {}) }).catch(lost)
  if (answer.ok) return answer
  const refusal = await answer.json().catch(() => null)
  if (!refusal?.error) throw new AiError('offline', 'The platform is not available.', { status: answer.status })
  throw refused(refusal, answer.status, retryAfter(answer))
}

async function playerOfPage(): Promise<string | undefined> {
  if (!(await session)?.user) refresh()
  return (await session)?.user?.id
}

async function readText(answer: Response, onText: NonNullable<TextRequest['onText']>): Promise<Generated<string>> {
  let text = ''
  try {
    for await (const { event, data } of readEvents(answer)) {
      const said = JSON.parse(data)
      if (event === 'done') return said
      if (event === 'error') throw refused(said, null, null)
      text += said.delta
      onText(said.delta, text)
    }
  } catch (error) {
    // A read that fails is a TypeError, and so may be a mistake of `onText`; the latter keeps its own message.
    if (error instanceof TypeError && text === '') lost(error)
    throw error
  }
  return lost(null)
}

async function readJson(answer: Response): Promise<object> {
  const body = await answer.json().catch(lost)
  return body
}

/** @throws AiError for a lost connection; what the caller aborted stays its own error */
function lost(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error
  throw new AiError('offline', 'There is no connection.', {})
}

/** Returns the error of the platform, with all that is beside it, such as `allowUrl`. */
function refused(body: { error: { code: string; message: string } }, status: number | null, retryAfter: number | null) {
  const { error, ...more } = body
  return new AiError(error.code, error.message, { ...more, status, retryAfter })
}
