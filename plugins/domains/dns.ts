import { Resolver } from 'node:dns/promises'
import { StartupError } from '../../core/errors.ts'

/** `wrong`: there are other texts. `unreachable`: the DNS gave no answer, so the result is unknown. */
export type ProofFound = 'found' | 'missing' | 'wrong' | 'unreachable'
export type AddressFound = 'here' | 'elsewhere' | 'missing' | 'unreachable'

/** Returns the name of the TXT record with the proof. */
export const proofName = (name: string): string => `_gameyard.${name}`
export const proofValue = (token: string): string => `gameyard-verification=${token}`

const TIMEOUT_MS = 4000
const TRIES = 2
/** The DNS answers for a missing name or record. */
const NONE = new Set(['ENOTFOUND', 'ENODATA'])

/** DNS lookups of domains, without a cache. */
export class DomainDns {
  readonly #servers: readonly string[]

  /** @param servers addresses, with a port other than 53; empty for those of the system */
  constructor(servers: readonly string[]) {
    this.#servers = servers
  }

  /** Whether the TXT record exists, which only the domain's administrator can create. */
  async proofOf(name: string, token: string): Promise<ProofFound> {
    const found = await this.#ask((dns) => dns.resolveTxt(proofName(name)))
    if (found === null) return 'unreachable'
    if (found.length === 0) return 'missing'
    return found.some((chunks) => chunks.join('') === proofValue(token)) ? 'found' : 'wrong'
  }

  /**
   * Whether a name resolves to this platform: by CNAME to the game's own name, or by a common address. A proxy in
   * between has other addresses, so the result is advice and no condition.
   */
  async addressOf(name: string, gameName: string): Promise<AddressFound> {
    const [aliases, own, wanted] = await Promise.all([
      this.#ask((dns) => dns.resolveCname(name)),
      this.#addresses(name),
      this.#addresses(gameName),
    ])
    if (aliases?.some((alias) => alias.toLowerCase().replace(/\.$/, '') === gameName)) return 'here'
    if (own === null) return 'unreachable'
    if (own.length === 0) return 'missing'
    return own.some((address) => wanted?.includes(address)) ? 'here' : 'elsewhere'
  }

  async #addresses(name: string): Promise<string[] | null> {
    const found = await Promise.all([this.#ask((dns) => dns.resolve4(name)), this.#ask((dns) => dns.resolve6(name))])
    return found.every((addresses) => addresses === null) ? null : found.flatMap((addresses) => addresses ?? [])
  }

  /** @returns an empty list for a name without such records; null when no server answered */
  async #ask<Answer>(question: (dns: Resolver) => Promise<Answer[]>): Promise<Answer[] | null> {
    // Each question has its own resolver, because a resolver caches answers.
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
    if (this.#servers.length > 0) resolver.setServers(this.#servers)
    try {
      return await question(resolver)
    } catch (error) {
      return NONE.has((error as NodeJS.ErrnoException).code ?? '') ? [] : null
    }
  }
}

/** @throws StartupError for a server that has no address */
export function checkResolvers({ resolvers }: { resolvers: readonly string[] }): void {
  for (const address of resolvers)
    try {
      new Resolver().setServers([address])
    } catch {
      throw new StartupError(
        `plugins.domains.resolvers: ${address} is no address of a DNS server; write 1.1.1.1 or 127.0.0.1:5353.`,
      )
    }
}
