import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../../core/data/audit.ts'
import type { SuspensionCause, Suspensions } from '../../../core/data/staff/suspensions.ts'
import { NotFound } from '../../../core/errors.ts'
import { isId } from '../../../core/ids.ts'
import type { AssetRecord } from '../../assets/index.ts'
import type { Game } from '../../games/index.ts'
import type { TargetKind } from '../schemas.ts'

/** A game, an asset or a player, by kind and id. */
export interface TargetRef {
  kind: TargetKind
  id: string
}

/** A reported thing as the staff see it. */
export interface Target extends TargetRef {
  title: string
  /** Of a player the player. */
  ownerId: string
  /** The owner, and all others who make the game, or the game of the asset. */
  makerIds: readonly string[]
  /** The path of its page. */
  page: string
  createdAt: string
  /** Why it is suspended; null when it is not. A player is never suspended. */
  suspended: string | null
  /** How the queue shows it. `frame` is the address of a game, `media` of a file. */
  look: { frame: string } | { image: string } | { audio: string } | null
}

type Announce = () => Promise<void>

/** Finds and suspends what can be reported, with the services of its plugin. */
export class Targets {
  readonly #app: Pick<FastifyInstance, 'games' | 'assets' | 'identity' | 'origins'>

  constructor(app: Pick<FastifyInstance, 'games' | 'assets' | 'identity' | 'origins'>) {
    this.#app = app
  }

  /**
   * Finds what a reporter names by id or slug.
   *
   * @param viewerId null for a visitor who is not signed in
   * @throws NotFound also for what the reporter can't see; Suspended
   */
  async forReporter({ kind, id }: TargetRef, viewerId: string | null): Promise<Target> {
    const { games, assets, identity } = this.#app
    if (kind === 'game') {
      const game = await games.mustSee(viewerId, id)
      return this.#ofGame(game)
    }
    if (kind === 'asset') {
      const asset = await assets.find(id, viewerId)
      if (!asset) throw new NotFound('asset')
      const [target] = await this.#ofAssets([asset])
      return target as Target
    }
    const player = await identity.players.find(id)
    if (!player || player.disabled) throw new NotFound('player')
    return ofPlayer(player)
  }

  /** Returns a target for the staff, also a deleted game that can be restored; null when it is gone for good. */
  async find(target: TargetRef): Promise<Target | null> {
    return (await this.findAll([target])).get(target.id) ?? null
  }

  /** Does the same for several. @returns those that are not gone for good, by id */
  async findAll(targets: readonly TargetRef[]): Promise<ReadonlyMap<string, Target>> {
    const { games, assets, identity } = this.#app
    const idsOf = (kind: TargetKind) => targets.filter((target) => target.kind === kind).map(({ id }) => id)
    const [gamesById, assetsById, players] = await Promise.all([
      games.byIdsEvenDeleted(idsOf('game')),
      assets.byIds(idsOf('asset')),
      identity.players.byIds(idsOf('player')),
    ])
    const found = [
      ...[...gamesById.values()].map((game) => this.#ofGame(game, game.isDeleted)),
      ...(await this.#ofAssets([...assetsById.values()])),
      ...[...players.values()].map(ofPlayer),
    ]
    return new Map(found.map((target) => [target.id, target]))
  }

  /** Suspends a game or asset in the caller's transaction. @returns a function that notifies every node */
  suspendIn(
    em: SqlEntityManager,
    { kind, id }: TargetRef,
    options: { reason: string; by: Actor; cause: string },
  ): Promise<Announce> {
    return this.#suspensions(kind).suspendIn(em, id, options)
  }

  /**
   * Lifts the suspension that a decision made, in the caller's transaction.
   *
   * @returns a function that notifies every node; null when the suspension has another cause by now, or was lifted
   */
  undoIn(
    em: SqlEntityManager,
    { kind, id }: TargetRef,
    options: { by: Actor; cause: string },
  ): Promise<Announce | null> {
    return this.#suspensions(kind).undoIn(em, id, options)
  }

  /** Returns the cause of a suspension, which stays so until the transaction ends; null when there is none. */
  causeIn(em: SqlEntityManager, { kind, id }: TargetRef): Promise<SuspensionCause | null> {
    return this.#suspensions(kind).causeIn(em, id)
  }

  #suspensions(kind: TargetKind): Pick<Suspensions<unknown>, 'suspendIn' | 'undoIn' | 'causeIn'> {
    if (kind === 'game') return this.#app.games.suspensions
    if (kind === 'asset') return this.#app.assets.suspensions
    throw new Error('A player is disabled, not suspended.')
  }

  #ofGame(game: Game, isDeleted = false): Target {
    const shown = !isDeleted && this.#app.games.isReady(game) && new URL(game.url).origin !== this.#app.origins.portal
    return {
      kind: 'game',
      id: game.id,
      title: game.title,
      ownerId: game.ownerId,
      makerIds: [game.ownerId, ...game.makerIds],
      page: `/games/${game.slug}`,
      createdAt: game.createdAt,
      suspended: game.suspended?.reason ?? null,
      look: shown ? { frame: game.url } : null,
    }
  }

  /** Describes assets, in their order. */
  async #ofAssets(assets: readonly AssetRecord[]): Promise<Target[]> {
    const gameIds = new Set(assets.flatMap(({ gameId }) => gameId ?? []))
    const games = new Map((await this.#app.games.byIds([...gameIds])).map((game) => [game.id, game]))
    return assets.map((asset) => {
      const game = asset.gameId === null ? undefined : games.get(asset.gameId)
      const page = `/assets/${asset.slug}`
      const look =
        asset.suspended || asset.visibility === 'private'
          ? null
          : asset.kind === 'audio'
            ? { audio: `${page}/file` }
            : { image: asset.kind === 'image' ? `${page}/file` : `${page}/thumbnail` }
      return {
        kind: 'asset',
        id: asset.id,
        title: asset.title,
        ownerId: asset.ownerId,
        makerIds: [asset.ownerId, ...(game ? [game.ownerId, ...game.makerIds] : [])],
        page,
        createdAt: asset.createdAt,
        suspended: asset.suspended?.reason ?? null,
        look,
      }
    })
  }
}

const ofPlayer = ({
  id,
  name,
  imageUrl,
  createdAt,
}: {
  id: string
  name: string
  imageUrl: string
  createdAt: string
}): Target => ({
  kind: 'player',
  id,
  title: name,
  ownerId: id,
  makerIds: [id],
  page: `/players/${id}`,
  createdAt,
  suspended: null,
  look: { image: new URL(imageUrl).pathname },
})

/** Returns the kind of a target from its id; null for an id of anything else. */
export const kindOfId = (id: string): TargetKind | null =>
  isId('gam', id) ? 'game' : isId('ast', id) ? 'asset' : isId('ply', id) ? 'player' : null
