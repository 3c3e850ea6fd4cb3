import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TooManyStreams } from '../errors.ts'
import { callerKey } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyInstance {
    eventStreams: EventStreams
  }
}

/** The current message; sent only when it differs from the last one. */
interface Look {
  event: string
  /** Sent as JSON. */
  data: unknown
  /** There will be nothing more: the stream ends. */
  over?: boolean
}

export interface Stream {
  /** The subject: `wake` with the same key makes it look at once. */
  key: string
  /**
   * Identifies the content of the stream: streams with the same name share one load and its result. The name must
   * contain everything by which the content differs, such as the viewer or the moment at which the stream was opened. A
   * stream without a name loads alone.
   */
  shows?: string
  /** Looks at how things are; its error ends the stream. */
  look(): Promise<Look>
  /** How late it is of what nobody told; default a second. */
  everyMs?: number
  /** A browser asks again after that, and so has to prove anew who it is; by default the stream lasts until it is over. */
  longestMs?: number
}

/** `longestMs` of a stream that a browser session opened: by then it has to be shown again. */
export const SESSION_MS = 120_000

interface StreamReply {
  readonly server: Pick<FastifyInstance, 'connections'>
  readonly raw: ServerResponse
  readonly request: FastifyRequest
  header(name: string, value: string): unknown
  serializer(fn: (payload: string) => string): unknown
  send(payload: never): unknown
}

/** A line now and then keeps proxies from ending a quiet stream. */
const QUIET_MS = 15_000

/** Open streams of one caller on this node: more than anybody has pages before their eyes. */
const MOST_PER_CALLER = 20

/** Shared by the streams of one key, while one of them is open. */
interface Topic {
  followers: number
  /** How often it was woken. */
  wakes: number
  readonly waiting: Set<() => void>
  /** The last look of each name. */
  readonly views: Map<string, View>
}

interface View {
  /** `Topic.wakes` when it was begun: what was seen before a wake is old. */
  wakes: number
  began: number
  said: Promise<{ text: string; over: boolean }>
}

/**
 * Server-sent events: the current state, then each change, until the content is complete, the last client has gone or
 * the server stops. A change may `wake` the streams that show it. Changes on another node, or without a `wake`, are
 * found by polling.
 */
export class EventStreams {
  readonly #topics = new Map<string, Topic>()
  /** How many streams each caller has open. */
  readonly #open = new Map<string, number>()
  #closed = false

  /** Answers with a stream. **Return** what it gives. @throws TooManyStreams */
  send(reply: StreamReply, stream: Stream): FastifyReply {
    const { raw } = reply
    const gone = new AbortController()
    const release = this.#admit(callerKey(reply.request))
    const text = Readable.from(this.follow(stream, gone.signal))
    const end = () => {
      gone.abort()
      release()
    }
    text.once('close', end)
    // A client may have left while its request was looked at, and then nothing tells of it any more.
    if (raw.closed) end()
    else raw.once('close', end)
    reply.server.connections.leaveAlone(raw)
    reply.header('cache-control', 'no-store')
    reply.header('x-accel-buffering', 'no')
    reply.header('content-type', 'text/event-stream')
    reply.serializer((payload) => payload)
    return reply.send(text as never) as FastifyReply
  }

  /** The text of a stream, piece by piece. */
  async *follow(stream: Stream, gone?: AbortSignal): AsyncGenerator<string> {
    const { key, everyMs = 1000, longestMs } = stream
    const topic = this.#topics.get(key) ?? { followers: 0, wakes: 0, waiting: new Set(), views: new Map() }
    this.#topics.set(key, topic)
    topic.followers++
    let wait: Wait | null = null
    try {
      const began = performance.now()
      let last: string | null = null
      let spoke = began
      while (!this.#closed && !gone?.aborted) {
        const view = this.#look(topic, stream, last === null)
        // Asked for in the same tick in which the look began, so that nothing that changes meanwhile is missed.
        wait = waitFor(topic, view.began + everyMs - performance.now(), gone)
        const { text, over } = await view.said
        const now = performance.now()
        if (text !== last || now - spoke > QUIET_MS) {
          yield text === last ? ': still there\n\n' : text
          last = text
          spoke = now
        }
        if (over || (longestMs !== undefined && now - began > longestMs)) return
        await wait.over
      }
    } finally {
      wait?.end()
      if (--topic.followers === 0) this.#topics.delete(key)
    }
  }

  /** Something is new. */
  wake(key: string): void {
    const topic = this.#topics.get(key)
    if (!topic) return
    topic.wakes++
    for (const wake of [...topic.waiting]) wake()
  }

  /** Ends all streams. */
  close(): void {
    this.#closed = true
    for (const key of this.#topics.keys()) this.wake(key)
  }

  /** @returns what gives the place back, once */
  #admit(caller: string): () => void {
    const open = this.#open.get(caller) ?? 0
    if (open >= MOST_PER_CALLER) throw new TooManyStreams(MOST_PER_CALLER)
    this.#open.set(caller, open + 1)
    let given = false
    return () => {
      if (given) return
      given = true
      const left = (this.#open.get(caller) ?? 1) - 1
      if (left > 0) this.#open.set(caller, left)
      else this.#open.delete(caller)
    }
  }

  /**
   * Reuses the load that another stream of the same name began after the last wake and within the shortest polling
   * interval; otherwise starts a new one. A stream that begins always loads, since the page that opened it may be newer
   * than the last shared result.
   */
  #look(topic: Topic, { shows, look, everyMs = 1000 }: Stream, first: boolean): View {
    const known = shows === undefined || first ? undefined : topic.views.get(shows)
    const now = performance.now()
    if (known && known.wakes === topic.wakes && now - known.began < everyMs) return known
    const view = { wakes: topic.wakes, began: now, said: look().then(textOf) }
    // Names that nobody follows any more.
    if (topic.views.size >= topic.followers) topic.views.clear()
    if (shows !== undefined) topic.views.set(shows, view)
    return view
  }
}

const textOf = ({ event, data, over = false }: Look) => ({
  text: `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
  over,
})

interface Wait {
  over: Promise<void>
  end(): void
}

/** Waits until the topic is woken, for `ms`, or, this stream alone, until nobody listens to it any more. */
function waitFor({ waiting }: Topic, ms: number, gone?: AbortSignal): Wait {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => {
    clearTimeout(timer)
    waiting.delete(end)
    gone?.removeEventListener('abort', end)
    resolve()
  }
  const timer = setTimeout(end, Math.max(1, ms))
  waiting.add(end)
  if (gone?.aborted) end()
  else gone?.addEventListener('abort', end)
  return { over: promise, end }
}
