import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import type { Site } from '../../../core/origins/origins.ts'
import { isDraftId, type Manifest } from '../../deploy/index.ts'
import type { Game } from '../../games/index.ts'
import { type HotFiles, type HotTable, hotTable } from './hot-files.ts'
import { SiteOwners } from './site-owners.ts'

/** A game with exactly one deploy as currently served. A request that holds it sees no file of a later deploy. */
export interface LiveSite {
  game: Game
  deployId: string
  manifest: Manifest
  /** Whether it is a preview under its own name, beside the live deploy. */
  preview: boolean
  /** Whether it is the preview of a draft, whose documents report what they log to the editor. */
  draft: boolean
  /** Whether it is served cross-origin isolated. */
  isolated: boolean
  /** Whether another game had this slug before. For custom domains see `Sites.inherits`. */
  inherited: boolean
  /** The names that had several contents, so that browsers must revalidate them. */
  changed: ReadonlySet<string>
  /** Its files that are in memory. */
  hot: HotTable
}

type GameOrigin = Extract<Site, { kind: 'game' }>

/** The maximum number of addresses with cached files. */
const MOST_TABLES = 10_000

/**
 * How long a game's files are served while the database is away. The game cannot change meanwhile, unless only this
 * node lost its database. Requests that need a session (private games) fail until the database is back.
 */
const OUTAGE_MS = 3_600_000

/** The cache from slug, or slug and preview, to the game and its live deploy. */
export class Sites {
  readonly #app: FastifyInstance
  readonly #hot: HotFiles
  readonly #owners: SiteOwners
  readonly #sites: TtlCache<LiveSite>
  /** A site is reloaded every few seconds. Its hot files stay while the reloaded site serves the same content. */
  readonly #tables = new Map<string, { manifest: Manifest; key: string; hot: HotTable }>()

  constructor(app: FastifyInstance, hot: HotFiles) {
    this.#app = app
    this.#hot = hot
    this.#owners = new SiteOwners(app)
    this.#sites = new TtlCache(app.clock, { outageMs: OUTAGE_MS })
    app.events.on('deploy.live', ({ slug }) => this.#sites.drop(slug))
    app.events.on('deploy.compressed', ({ slug }) => this.#sites.drop(slug))
    app.events.on('draft.changed', ({ draftId }) => this.#sites.dropWhere((site) => site.deployId === draftId))
    app.events.on('game.changed', ({ gameId, slug, previousSlug }) => {
      this.#sites.drop(slug)
      if (previousSlug) this.#sites.drop(previousSlug)
      this.#sites.dropWhere((site) => site.preview && site.game.id === gameId)
    })
  }

  /** Returns the site synchronously if it is cached and fresh. */
  peek(slug: string): LiveSite | undefined {
    return this.#sites.peek(slug)
  }

  /** Whether the requested address served another game before; undefined when this requires a lookup. */
  peekInherits({ domain }: GameOrigin, site: LiveSite): boolean | undefined {
    return domain === null ? site.inherited : this.#owners.peek(domain, site.game.id)
  }

  /** Whether the requested address served another game before. */
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
      const deployId =
        preview === null ? game.liveDeployId : await this.#app.deploys.manifests.byPreview(game.id, preview)
      const manifest = deployId === null ? null : await this.#app.deploys.manifest(deployId)
      if (!deployId || !manifest) return null
      const inherited = preview === null && (await this.#owners.inherits(slug, game.id))
      const isolated = preview === null ? game.isolated : await this.#app.deploys.isIsolated(game, deployId)
      const changed = await this.#app.deploys.served.changed(game.id)
      const hot = this.#tableOf(name, { game, manifest, isolated, changed })
      const draft = isDraftId(deployId)
      return { game, deployId, manifest, preview: preview !== null, draft, isolated, inherited, changed, hot }
    })
  }

  #tableOf(
    name: string,
    { game, manifest, isolated, changed }: Pick<LiveSite, 'game' | 'manifest' | 'isolated' | 'changed'>,
  ): HotTable {
    // Settings change the response, so they are part of the key.
    const key = `${game.settings.authWidget} ${isolated} ${game.visibility} ${changed.size}`
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
