import type { FastifyInstance } from 'fastify'
import { ShortCache } from '../../../core/short-cache.ts'
import type { Manifest } from '../../deploy/index.ts'
import type { Game } from '../../games/index.ts'

/** A game as it is served now: one deploy, whole. A request that has taken one sees nothing of a later deploy. */
export interface LiveSite {
  game: Game
  deployId: string
  manifest: Manifest
}

/** Slug → the game and its live manifest, in memory. */
export class Sites {
  readonly #app: FastifyInstance
  readonly #sites: ShortCache<LiveSite>

  constructor(app: FastifyInstance) {
    this.#app = app
    this.#sites = new ShortCache(app.clock)
    app.events.on('deploy.live', ({ slug }) => this.#sites.drop(slug))
    app.events.on('game.changed', ({ slug, previousSlug }) => {
      this.#sites.drop(slug)
      if (previousSlug) this.#sites.drop(previousSlug)
    })
  }

  /** The game at a slug with what it is served from; null when there is none, or nothing has been deployed. */
  get(slug: string): Promise<LiveSite | null> {
    return this.#sites.get(slug, async () => {
      const game = await this.#app.games.bySlug(slug)
      if (!game?.liveDeployId) return null
      const manifest = await this.#app.deploys.manifest(game.liveDeployId)
      return manifest && { game, deployId: game.liveDeployId, manifest }
    })
  }
}
