import dns from 'node:dns'
import { isIP } from 'node:net'
import { promisify } from 'node:util'

/**
 * Replies of a server that takes no writes: a replica, which may have been the primary, or a server that loads its data.
 * Scripts report them inside of their own error.
 */
export const takesNoWrites = (error: unknown): boolean =>
  error instanceof Error && /\b(READONLY|LOADING|MASTERDOWN)\b/.test(error.message)

/**
 * Returns why a server can't be used as a bus, as the rest of a sentence, or null if it can.
 *
 * @param info the section `server` of its INFO, or an empty text where it may not be read
 */
export function unsupportedMode(info: string): string | null {
  const mode = /^redis_mode:(\w+)/m.exec(info)?.[1]
  if (mode === 'sentinel')
    return 'it is a Sentinel, which is not supported: give the address of the primary, or of a proxy or name that leads to it'
  if (mode === 'cluster')
    return 'it is a Redis Cluster, which is not supported: use one Redis server, or one with replicas'
  return null
}

/** How many times in a row a name must lead elsewhere. A name server may rotate among several addresses. */
const ELSEWHERE = 2

const lookUp = (host: string) => promisify(dns.lookup)(host, { all: true })

/** Notices that the name of a server no longer leads to the addresses that it had when the connection was opened. */
export class AddressWatch {
  readonly #host: string
  #addresses = new Set<string>()
  #elsewhere = 0

  /** @param host a name or an IP address, as in a URL */
  constructor(host: string) {
    this.#host = host.replace(/^\[|\]$/g, '')
  }

  /** Remembers the addresses of now. Called when a connection is opened. */
  async remember(): Promise<void> {
    this.#elsewhere = 0
    this.#addresses = await this.#current()
  }

  /** Returns whether the name leads elsewhere, twice in a row. A name that can't be resolved leads nowhere else. */
  async hasMoved(): Promise<boolean> {
    const current = await this.#current()
    if (this.#addresses.size === 0) this.#addresses = current
    const stays = current.size === 0 || [...current].some((address) => this.#addresses.has(address))
    this.#elsewhere = stays ? 0 : this.#elsewhere + 1
    return this.#elsewhere >= ELSEWHERE
  }

  async #current(): Promise<Set<string>> {
    if (isIP(this.#host)) return new Set([this.#host])
    return new Set((await lookUp(this.#host).catch(() => [])).map(({ address }) => address))
  }
}
