import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]
type Options = Parameters<FastifyBaseLogger['child']>[1]

/**
 * The log of one request, which adds the request's id to each line. It is created at the first write. Most requests
 * never write one, since their single line (core/http/request-rules.ts) contains the request id itself.
 */
export class RequestLog implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Bindings
  readonly #options: Options
  #own: FastifyBaseLogger | null = null

  constructor(parent: FastifyBaseLogger, bindings: Bindings, options: Options) {
    this.#parent = parent
    this.#bindings = bindings
    this.#options = options
  }

  get #log(): FastifyBaseLogger {
    this.#own ??= this.#parent.child(this.#bindings, this.#options)
    return this.#own
  }

  get level(): string {
    return this.#log.level
  }

  set level(level: string) {
    this.#log.level = level
  }

  child(bindings: Bindings, options?: Options): FastifyBaseLogger {
    return this.#log.child(bindings, options)
  }

  fatal(...line: [unknown]): void {
    this.#log.fatal(...line)
  }

  error(...line: [unknown]): void {
    this.#log.error(...line)
  }

  warn(...line: [unknown]): void {
    this.#log.warn(...line)
  }

  info(...line: [unknown]): void {
    this.#log.info(...line)
  }

  debug(...line: [unknown]): void {
    this.#log.debug(...line)
  }

  trace(...line: [unknown]): void {
    this.#log.trace(...line)
  }

  silent(): void {}
}
