import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TooManyStreams } from '../errors.ts'
import { onceClosed } from './connections.ts'
import { callerKey } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyInstance {
    eventStreams: EventStreams
  }
}

/** The current message. It is sent only when it differs from the previous one. */
interface Look {
  event: string
  /** Sent as JSON. */
  data: unknown
  /** Ends the stream after this message. */
  over?: boolean
}

export interface Stream {
  /** The subject. `wake` with the same key reloads at once. */
  key: string
  /**
   * Identifies the content of the stream: streams with the same name share one load and its result. The name must
   * contain everything by which the content differs, such as the viewer or the moment at which the stream was opened. A
   * stream without a name loads alone.
   */
  shows?: string
  /** Loads the current state. An error ends the stream. */
  look(): Promise<Look>
  /** Polling interval, which bounds the delay of a change without `wake`. Default: one second. */
  everyMs?: number
  /**
   * Maximum lifetime. The browser then reconnects and authenticates again. Default: the stream lasts until it is
   * complete.
   */
  longestMs?: number
}

/** `longestMs` for streams of a browser session, which must be verified again after this time. */
export const SESSION_MS = 120_000

interface StreamReply {
  readonly server: Pick<FastifyInstance, 'connections'>
  readonly raw: ServerResponse
  readonly request: FastifyRequest
  header(name: string, value: string): unknown
  serializer(fn: (payload: string) => string): unknown
  send(payload: never): unknown
}

/** Interval of comment lines, which keep proxies from closing a quiet stream. */
const QUIET_MS = 15_000

/** Maximum number of open streams of one caller on this node, more than anybody has pages in view. */
const MOST_PER_CALLER = 20

/** The shared state of the streams of one key, while one of them is open. */
interface Topic {
  followers: number
  /** Number of wakes. */
  wakes: number
  readonly waiting: Set<() => void>
  /** The last load of each name. */
  readonly views: Map<string, View>
}

interface View {
  /** Value of `Topic.wakes` at the start of the load. A load from before the last wake is outdated. */
  wakes: number
  began: number
  said: Promise<{ text: string; over: boolean }>
}

/** Limits the open streams of each caller in this process. */
export class StreamLimit {
  readonly #most: number
  readonly #open = new Map<string, number>()

  /** @param most the streams of one caller at once */
  constructor(most: number) {
    this.#most = most
  }

  /** Counts a stream. @returns a function that ends it, once @throws TooManyStreams */
  admit(caller: string): () => void {
    const open = this.#open.get(caller) ?? 0
    if (open >= this.#most) throw new TooManyStreams(this.#most)
    this.#open.set(caller, open + 1)
    let ended = false
    return () => {
      if (ended) return
      ended = true
      const left = (this.#open.get(caller) ?? 1) - 1
      if (left > 0) this.#open.set(caller, left)
      else this.#open.delete(caller)
    }
  }
}

/**
 * Server-sent events: the current state, then each change, until the content is complete, the last client has gone or
 * the server stops. A change may `wake` the streams that show it. Changes on another node, or without a `wake`, are
 * found by polling.
 */
export class EventStreams {
  readonly #topics = new Map<string, Topic>()
  /** Number of open streams of each caller. */
  readonly #limit = new StreamLimit(MOST_PER_CALLER)
  #closed = false

  /** Responds with a stream. The handler must **return** the result. @throws TooManyStreams */
  send(reply: StreamReply, stream: Stream): FastifyReply {
    const { raw } = reply
    const gone = new AbortController()
    const release = this.#limit.admit(callerKey(reply.request))
    const text = Readable.from(this.follow(stream, gone.signal))
    const end = () => {
      gone.abort()
      release()
    }
    text.once('close', end)
    onceClosed(reply, end)
    reply.server.connections.leaveAlone(raw)
    reply.header('cache-control', 'no-store')
    reply.header('x-accel-buffering', 'no')
    reply.header('content-type', 'text/event-stream')
    reply.serializer((payload) => payload)
    return reply.send(text as never) as FastifyReply
  }

  /** Yields the text of a stream piece by piece. */
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
        // The wait starts in the same tick as the load, so that no change in between is missed.
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

  /** Reports a change of the subject to its streams. */
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
    // Drops cached loads of names without followers.
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

/** Waits for a wake of the topic or for `ms`. The wait of this stream also ends when its client disconnects. */
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
