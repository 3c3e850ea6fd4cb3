import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Browsers wait for each answer, and few programs send more requests ahead. */
const MOST_UNANSWERED = 16

/**
 * Bounds pipelining (RFC 9112 section 9.3.2). A connection with more than 16 unanswered requests is not read further
 * until it has fewer. Of the requests that were read at most 16 are handled in one turn of the event loop. Node alone
 * handles all that arrive together, which can be hundreds, before it turns to another connection.
 */
export function limitPipelining(listener: RequestListener): RequestListener {
  const pipelines = new WeakMap<Socket, Pipeline>()

  function onClose(this: ServerResponse): void {
    pipelines.get(this.req.socket)?.answered()
  }

  return (request, response) => {
    const { socket } = request
    let pipeline = pipelines.get(socket)
    if (!pipeline) {
      pipeline = new Pipeline(socket, listener)
      pipelines.set(socket, pipeline)
    }
    response.on('close', onClose)
    pipeline.take(request, response)
  }
}

/** The requests of one connection whose responses have not been sent completely. */
class Pipeline {
  readonly #socket: Socket
  readonly #listener: RequestListener
  #unanswered = 0
  /** The requests among them that were read and wait to be handled, in order. */
  #waiting: [IncomingMessage, ServerResponse][] = []
  #isPaused = false

  constructor(socket: Socket, listener: RequestListener) {
    this.#socket = socket
    this.#listener = listener
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    this.#unanswered++
    if (this.#unanswered <= MOST_UNANSWERED) {
      this.#listener(request, response)
      return
    }
    this.#waiting.push([request, response])
    if (this.#isPaused) return
    this.#isPaused = true
    // Node resumes the connection whenever it reads a body.
    this.#socket.on('resume', this.#pause)
    this.#pause()
  }

  answered(): void {
    this.#unanswered--
    if (this.#waiting.length > 0) {
      // Responses may end without a turn of the event loop, so the next request gets a later one.
      setImmediate(this.#handleNext)
    } else if (this.#isPaused && this.#unanswered < MOST_UNANSWERED) {
      this.#isPaused = false
      this.#socket.off('resume', this.#pause)
      this.#socket.resume()
    }
  }

  readonly #pause = (): void => {
    this.#socket.pause()
  }

  readonly #handleNext = (): void => {
    const next = this.#waiting.shift()
    if (next && !this.#socket.destroyed) this.#listener(...next)
  }
}
