import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../core/events.ts'
import { StreamLimit } from '../../core/http/event-streams.ts'
import { randomText } from '../../core/ids.ts'

const CHANNEL = 'assistants/messages'
const SESSION = /^[A-Za-z0-9_-]{22}(?:\.form)?$/
/** What the session of a client has at its end that can show forms. */
const SHOWS_FORMS = '.form'
const LONGEST_ID = 200
/** The maximum number of open calls of one player on this node, more than any assistant makes at once. */
const MOST_PER_PLAYER = 20
/** How long a question waits for its answer. */
const QUESTION_MS = 600_000

/** The sender of a message: a player, and the session of its client. */
export interface Sender {
  playerId: string
  session: string
}

/** A message of a client about a call that is under way, perhaps on another node. */
interface Message {
  key: string
  /** The decision of a person; for a cancelled call it has no meaning. */
  confirmed: boolean
}

/**
 * Creates the session id of a client of the revisions of 2025 (`Mcp-Session-Id`). Nothing is stored under it: it names
 * the client in its later messages, and says whether it can show forms, which only its first message says.
 */
export const newSession = ({ elicitation }: { elicitation?: { form?: unknown; url?: unknown } } = {}): string => {
  const showsForms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  return randomText(16) + (showsForms ? SHOWS_FORMS : '')
}

/** Returns the session id in a header; null without one that this server could have created. */
export const sessionOf = (header: unknown): string | null =>
  typeof header === 'string' && SESSION.test(header) ? header : null

export const showsForms = ({ session }: Sender): boolean => session.endsWith(SHOWS_FORMS)

/**
 * The calls of clients of the revisions of 2025 that are under way on this node. Such a client cancels a call, and
 * answers a question of one, by a request of its own, which may reach another node; the bus then carries it here.
 */
export class OpenCalls {
  readonly #bus: Bus
  readonly #log: FastifyBaseLogger
  readonly #waiting = new Map<string, (confirmed: boolean) => void>()
  /** The number of open calls by player. */
  readonly #limit = new StreamLimit(MOST_PER_PLAYER)

  constructor(bus: Bus, log: FastifyBaseLogger) {
    this.#bus = bus
    this.#log = log
  }

  /** Starts to receive the messages that reach other nodes. @throws BusUnavailable */
  async start(): Promise<void> {
    await this.#bus.subscribe(CHANNEL, (text) => {
      const { key, confirmed } = JSON.parse(text) as Message
      this.#waiting.get(key)?.(confirmed === true)
    })
  }

  /**
   * Counts a call of a player, which may wait for a job or a person for up to an hour.
   *
   * @returns a function that ends the call, once
   * @throws TooManyStreams
   */
  admit(playerId: string): () => void {
    return this.#limit.admit(playerId)
  }

  /**
   * Opens a call until `close`.
   *
   * @returns a signal that aborts when the client cancels the call
   */
  open(sender: Sender, requestId: unknown): { signal: AbortSignal; close(): void } {
    const stop = new AbortController()
    const key = keyOf('call', sender, requestId)
    const cancel = () => stop.abort(new DOMException('The caller has cancelled the call.', 'AbortError'))
    this.#waiting.set(key, cancel)
    return {
      signal: stop.signal,
      close: () => {
        if (this.#waiting.get(key) === cancel) this.#waiting.delete(key)
      },
    }
  }

  /**
   * Waits for the decision of a person.
   *
   * @param send sends the question under an id
   * @returns false when the person says no, when the signal aborts, and when there is no answer for ten minutes
   */
  async ask(
    sender: Sender,
    send: (id: string) => Promise<void>,
    signal: AbortSignal,
    longestMs = QUESTION_MS,
  ): Promise<boolean> {
    const id = `question-${randomText(16)}`
    const key = keyOf('question', sender, id)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const giveUp = () => resolve(false)
    this.#waiting.set(key, resolve)
    signal.addEventListener('abort', giveUp, { once: true })
    const timer = setTimeout(giveUp, longestMs)
    try {
      if (signal.aborted) return false
      await send(id)
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', giveUp)
      this.#waiting.delete(key)
    }
  }

  /** Takes a message of a client: a cancelled call, or the answer to a question. Others are no concern of calls. */
  async receive(sender: Sender, body: unknown): Promise<void> {
    const message = messageOf(sender, body)
    if (!message) return
    const here = this.#waiting.get(message.key)
    if (here) return here(message.confirmed)
    if (!this.#bus.shared) return
    try {
      await this.#bus.publish(CHANNEL, JSON.stringify(message))
    } catch (error) {
      this.#log.warn({ err: error }, 'a message of an assistant could not be sent to other nodes')
    }
  }
}

function messageOf(sender: Sender, body: unknown): Message | null {
  const { id, method, params, result, error } = (body ?? {}) as Record<string, unknown>
  if (method === 'notifications/cancelled') {
    const { requestId } = (params ?? {}) as { requestId?: unknown }
    return isId(requestId) ? { key: keyOf('call', sender, requestId), confirmed: false } : null
  }
  if (method !== undefined || !isId(id) || (result === undefined && error === undefined)) return null
  const { action, content } = (result ?? {}) as { action?: unknown; content?: { confirm?: unknown } | null }
  return { key: keyOf('question', sender, id), confirmed: action === 'accept' && content?.confirm === true }
}

const isId = (id: unknown): boolean => typeof id === 'number' || (typeof id === 'string' && id.length <= LONGEST_ID)

/** `1` and `"1"` are two ids. */
const keyOf = (kind: 'call' | 'question', { playerId, session }: Sender, id: unknown): string =>
  JSON.stringify([kind, playerId, session, id])
