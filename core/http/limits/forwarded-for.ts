import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Logger } from 'pino'

const WARN_EVERY_MS = 60_000

/**
 * Reads `X-Forwarded-For` as proxies really write it, so that one client is one address: with a port (Azure, some set-ups of
 * HAProxy), in brackets, with a zone, or as an IPv4 address that is mapped into IPv6.
 */
export class ForwardedFor {
  readonly #log: Pick<Logger, 'warn'>
  readonly #isProxy: (address: string) => boolean
  #warnedAt = Number.NEGATIVE_INFINITY

  /** @param isProxy whether an address is that of a trusted proxy */
  constructor(log: Pick<Logger, 'warn'>, isProxy: (address: string) => boolean) {
    this.#log = log
    this.#isProxy = isProxy
  }

  /** Replaces the header by plain addresses. What is no address, and all before it, is the address of the proxy itself. */
  normalize({ headers, socket }: IncomingMessage): void {
    const sent = headers['x-forwarded-for'] as string | undefined
    const proxy = socket.remoteAddress
    if (sent === undefined || proxy === undefined || !this.#isProxy(proxy)) return
    const addresses: string[] = []
    for (const entry of sent.split(',').reverse()) {
      const address = addressIn(entry)
      if (address === null) {
        if (addresses.length === 0) this.#warn(proxy, entry)
        addresses.push(addresses.at(-1) ?? proxy)
        break
      }
      addresses.push(address)
      // Nobody looks behind the first address that is not a proxy's.
      if (!this.#isProxy(address)) break
    }
    headers['x-forwarded-for'] = addresses.reverse().join(', ')
  }

  #warn(proxy: string, entry: string): void {
    const now = performance.now()
    if (now - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = now
    this.#log.warn(
      { proxy, sent: entry.trim().slice(0, 100) },
      'a proxy sent no address of its client in X-Forwarded-For; all its clients share the limits of one address',
    )
  }
}

/** Returns the address in an entry, without port, brackets and zone; null when there is none. */
export function addressIn(entry: string): string | null {
  const text = entry.trim()
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1]
  const beforePort = /^([\d.]+):\d{1,5}$/.exec(text)?.[1]
  const address = (inBrackets ?? beforePort ?? text).replace(/%[\w.-]+$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  return isIP(mapped) === 0 ? null : mapped
}
