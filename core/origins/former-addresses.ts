import type { Config } from '../config.ts'

/** The kind of a former address: the portal, the Studio, or a label before the domain of the games. */
export type FormerAddress = { kind: 'portal' } | { kind: 'game'; label: string } | { kind: 'port'; port: number }

/** The previous addresses of the platform (`portal.formerUrls`, `games.formerDomains`). */
export class FormerAddresses {
  readonly #hosts: ReadonlySet<string>
  /** Names without ports, because with `games.origins: port` games had the same name. */
  readonly #names: ReadonlySet<string>
  readonly #domains: readonly string[]

  constructor({ portal, games }: Pick<Config, 'portal' | 'games'>) {
    const hosts = (portal.formerUrls ?? []).map((url) => new URL(url).host)
    this.#hosts = new Set(hosts)
    this.#names = new Set(hosts.map(withoutPort))
    this.#domains = games.formerDomains ?? []
  }

  /** @param host lower case, with its port unless that is the scheme's default */
  find(host: string): FormerAddress | null {
    if (this.#hosts.has(host) || this.#domains.includes(host)) return { kind: 'portal' }
    for (const domain of this.#domains) {
      const label = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : ''
      if (LABEL.test(label)) return { kind: 'game', label }
    }
    const port = Number(/:([0-9]+)$/.exec(host)?.[1] ?? 0)
    return port > 0 && this.#names.has(withoutPort(host)) ? { kind: 'port', port } : null
  }

  /** Returns the former host of a bare name, with its port; null when there is none. */
  hostOf(name: string): string | null {
    const host = [...this.#hosts].find((host) => withoutPort(host) === name)
    if (host) return host
    const domain = this.#domains.find((domain) => `.${name}`.endsWith(`.${withoutPort(domain)}`))
    return domain === undefined ? null : name + domain.slice(withoutPort(domain).length)
  }
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const withoutPort = (host: string): string => host.replace(/:[0-9]+$/, '')
