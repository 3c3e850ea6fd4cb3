import type { FastifyBaseLogger } from 'fastify'
import type { MulticastDNS } from 'multicast-dns'

export interface AnnouncerOptions {
  /** The name without `.local`. */
  name: string
  /** The IPv4 address of the interface on which it is announced. */
  address: string
  log: FastifyBaseLogger
  /** Default 5353 (RFC 6762). */
  port?: number
}

/** The time for which others may cache the answer, in seconds: RFC 6762 section 10 recommends it for addresses. */
const TTL = 120

/** The questions whose answer is an IPv4 address. */
const ADDRESS = new Set(['A', 'ANY'])

/**
 * Answers multicast DNS queries for `<name>.local` with this machine's address (RFC 6762), for as long as it is open.
 *
 * It is optional: an error is logged as a warning, and people type the address instead.
 */
export class Announcer {
  readonly #mdns: MulticastDNS
  readonly #name: string
  readonly #address: string
  readonly #log: FastifyBaseLogger
  #quarrelled = false

  private constructor(mdns: MulticastDNS, { name, address, log }: AnnouncerOptions) {
    this.#mdns = mdns
    this.#name = `${name}.local`
    this.#address = address
    this.#log = log
  }

  static async open(options: AnnouncerOptions): Promise<Announcer> {
    const { default: multicastDns } = await import('multicast-dns')
    // It is bound to every address, because on Linux a socket of one address receives no multicast.
    const mdns = multicastDns({
      interface: options.address,
      bind: '0.0.0.0',
      ...(options.port === undefined ? {} : { port: options.port }),
    })
    const announcer = new Announcer(mdns, options)
    announcer.#listen()
    return announcer
  }

  #listen(): void {
    // The library reports a failed bind twice.
    this.#mdns.once('error', (error: Error) => {
      this.#mdns.on('error', () => {})
      this.#log.warn(`${this.#name} can't be announced (${error.message}); the address works without it`)
    })
    this.#mdns.on('warning', (error: Error) => this.#log.debug({ err: error }, 'multicast DNS'))
    this.#mdns.on('query', ({ questions = [] }) => {
      const asked = questions.some(({ name, type }) => name.toLowerCase() === this.#name && ADDRESS.has(type as string))
      if (asked) this.#say()
    })
    this.#mdns.on('response', ({ answers = [] }) => {
      for (const answer of answers) {
        if (answer.type !== 'A' || answer.name.toLowerCase() !== this.#name || answer.data === this.#address) continue
        if (this.#quarrelled) continue
        this.#quarrelled = true
        this.#log.warn(
          `another machine, ${answer.data}, answers to ${this.#name} too; choose another name with lan.name`,
        )
      }
    })
    this.#mdns.on('ready', () => {
      this.#mdns.query(this.#name, 'A')
      this.#say()
    })
  }

  /** Sends the record with the bit that makes caches discard older records (RFC 6762 section 10.2). */
  #say(ttl = TTL): void {
    this.#mdns.respond([{ name: this.#name, type: 'A', ttl, flush: true, data: this.#address }])
  }

  /** Sends a time to live of zero, so that other machines stop using the name. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#mdns.respond([{ name: this.#name, type: 'A', ttl: 0, flush: true, data: this.#address }], () => resolve())
      setTimeout(resolve, 200).unref()
    })
    await new Promise<void>((resolve) => this.#mdns.destroy(() => resolve()))
  }
}
