import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import type { Site } from '../../../core/origins/origins.ts'
import type { Manifest } from '../../deploy/index.ts'
import type { Game } from '../../games/index.ts'
import { type HotFiles, type HotTable, hotTable } from './hot-files.ts'
import { SiteOwners } from './site-owners.ts'

/** A game as it is served now: one deploy, whole. A request that has taken one sees nothing of a later deploy. */
export interface LiveSite {
  game: Game
  deployId: string
  manifest: Manifest
  /** A deploy beside the live one, under a name of its own. */
  preview: boolean
  /** Another game was at this slug before; for domains of games' own: `Sites.inherits`. */
  inherited: boolean
  /** Its files that are ready in memory. */
  hot: HotTable
}

type GameOrigin = Extract<Site, { kind: 'game' }>

/** Most addresses that hold on to their hot files. */
const MOST_TABLES = 10_000

/**
 * How long a game's files are served while the database is away. The game cannot change meanwhile, unless only this
 * node lost its database. Requests that need a session (private games) fail until the database is back.
 */
const OUTAGE_MS = 3_600_000

/** Slug, or slug and preview, → the game and what it is served from, in memory. */
export class Sites {
  readonly #app: FastifyInstance
  readonly #hot: HotFiles
  readonly #owners: SiteOwners
  readonly #sites: TtlCache<LiveSite>
  /** A site is read anew every few seconds; as long as it sends the same, its hot files stay. */
  readonly #tables = new Map<string, { manifest: Manifest; key: string; hot: HotTable }>()

  constructor(app: FastifyInstance, hot: HotFiles) {
    this.#app = app
    this.#hot = hot
    this.#owners = new SiteOwners(app)
    this.#sites = new TtlCache(app.clock, { outageMs: OUTAGE_MS })
    app.events.on('deploy.live', ({ slug }) => this.#sites.drop(slug))
    app.events.on('deploy.compressed', ({ slug }) => this.#sites.drop(slug))
    app.events.on('game.changed', ({ gameId, slug, previousSlug }) => {
      this.#sites.drop(slug)
      if (previousSlug) this.#sites.drop(previousSlug)
      this.#sites.dropWhere((site) => site.preview && site.game.id === gameId)
    })
  }

  /** The site if it is in memory and fresh, at once. */
  peek(slug: string): LiveSite | undefined {
    return this.#sites.peek(slug)
  }

  /** Whether another game was before at the address that a site is asked for; undefined when it takes a look-up. */
  peekInherits({ domain }: GameOrigin, site: LiveSite): boolean | undefined {
    return domain === null ? site.inherited : this.#owners.peek(domain, site.game.id)
  }

  /** Whether another game was before at the address that a site is asked for. */
  async inherits({ domain }: GameOrigin, site: LiveSite): Promise<boolean> {
    return domain === null ? site.inherited : this.#owners.inherits(domain, site.game.id)
  }

  /**
   * Returns the game at a slug with its live files; null when there is none, or nothing has been deployed.
   *
   * @param preview of `<slug>--<preview>.<domain>`
   */
  get(slug: string, preview: string | null): Promise<LiveSite | null> {
    const name = preview === null ? slug : `${slug}--${preview}`
    return this.#sites.get(name, async () => {
      const game = await this.#app.games.bySlug(slug)
      if (!game) return null
      const deployId = preview === null ? game.liveDeployId : await this.#app.deploys.byPreview(game.id, preview)
      const manifest = deployId === null ? null : await this.#app.deploys.manifest(deployId)
      if (!deployId || !manifest) return null
      const inherited = preview === null && (await this.#owners.inherits(slug, game.id))
      const hot = this.#tableOf(name, game, manifest)
      return { game, deployId, manifest, preview: preview !== null, inherited, hot }
    })
  }

  #tableOf(name: string, game: Game, manifest: Manifest): HotTable {
    // Settings are part of what is sent.
    const { authWidget, crossOriginIsolated } = game.settings
    const key = `${authWidget} ${crossOriginIsolated} ${game.visibility}`
    const known = this.#tables.get(name)
    if (known && known.manifest === manifest && known.key === key) return known.hot
    if (known) this.#hot.discard(known.hot)
    if (this.#tables.size >= MOST_TABLES) {
      for (const { hot } of this.#tables.values()) this.#hot.discard(hot)
      this.#tables.clear()
    }
    const hot = hotTable()
    this.#tables.set(name, { manifest, key, hot })
    return hot
  }
}
