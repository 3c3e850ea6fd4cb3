import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    eventStreams: EventStreams
  }
}

/** What there is to say at one look; said only when it differs from what was said last. */
interface Look {
  event: string
  /** Sent as JSON. */
  data: unknown
  /** There will be nothing more: the stream ends. */
  over?: boolean
}

export interface Stream {
  /** What it is about: `wake` with the same key makes it look at once. */
  key: string
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
  readonly raw: ServerResponse
  header(name: string, value: string): unknown
  serializer(fn: (payload: string) => string): unknown
  send(payload: never): unknown
}

/** A line now and then keeps proxies from ending a quiet stream. */
const QUIET_MS = 15_000

/**
 * Server-sent events: what is at one moment, then each change, until it is over, nobody listens or the server stops.
 * Whatever changes may `wake` those who look at it; what changes on another node, or without a word, is seen by looking
 * again.
 */
export class EventStreams {
  readonly #waiting = new Map<string, Set<() => void>>()
  #closed = false

  /** Answers with a stream. **Return** what it gives. */
  send(reply: StreamReply, stream: Stream): FastifyReply {
    reply.header('cache-control', 'no-store')
    reply.header('x-accel-buffering', 'no')
    reply.header('content-type', 'text/event-stream')
    reply.serializer((payload) => payload)
    const gone = new AbortController()
    reply.raw.once('close', () => {
      gone.abort()
      this.wake(stream.key)
    })
    return reply.send(Readable.from(this.follow(stream, gone.signal)) as never) as FastifyReply
  }

  /** The text of a stream, piece by piece. */
  async *follow({ key, look, everyMs = 1000, longestMs }: Stream, gone?: AbortSignal): AsyncGenerator<string> {
    const began = performance.now()
    let last = ''
    let spoke = began
    while (!this.#closed && !gone?.aborted) {
      // Asked for before looking, so that nothing that changes meanwhile is missed.
      const changed = this.#change(key, everyMs)
      const { event, data, over } = await look()
      const now = performance.now()
      const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
      if (text !== last || now - spoke > QUIET_MS) {
        yield text === last ? ': still there\n\n' : text
        last = text
        spoke = now
      }
      if (over || (longestMs !== undefined && now - began > longestMs)) return
      await changed
    }
  }

  /** Something is new. */
  wake(key: string): void {
    for (const wake of this.#waiting.get(key) ?? []) wake()
  }

  /** Ends all streams. */
  close(): void {
    this.#closed = true
    for (const key of this.#waiting.keys()) this.wake(key)
  }

  #change(key: string, everyMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key) ?? new Set()
      const wake = () => {
        clearTimeout(timer)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
        resolve()
      }
      const timer = setTimeout(wake, everyMs)
      this.#waiting.set(key, waiting.add(wake))
    })
  }
}
