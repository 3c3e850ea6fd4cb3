import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Actor, recordAction } from '../../../core/data/audit.ts'
import { transferAppsOfGame } from '../../oauth-idp/index.ts'
import type { ReadTallies } from '../../quotas/index.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import { GameMember, GameTransfer } from './entities.ts'
import type { HeldGame, Members } from './members.ts'

/** A game that gets another owner. */
export interface OwnerChange {
  gameId: string
  fromId: string
  toId: string
}

interface ChangeOptions {
  by: Actor
  /** Whether what the game stores counts for the new owner whatever the quota. */
  admitted?: boolean
  /** Whether the former owner makes the game from now on. */
  stays?: boolean
  /** What `quotas.readGame` has read before the transaction. */
  tallies?: ReadTallies | undefined
}

type ChangedApps = Awaited<ReturnType<typeof transferAppsOfGame>>

/** Changes the owners of games. `Transfers` decides when. */
export class Ownership {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  readonly #members: Members
  /**
   * The changes of rows that name the owner of a game, in the transaction that changes it, before the stored bytes move.
   * Plugins add theirs.
   */
  readonly moves: ((em: SqlEntityManager, change: OwnerChange) => Promise<unknown>)[] = []

  constructor(parts: GamesParts, games: GameLookup, members: Members) {
    this.#parts = parts
    this.#games = games
    this.#members = members
  }

  /**
   * Gives a game to one of its makers, in a transaction that holds its row: with its application, and with all stored
   * bytes that count for its owner. An open offer of the game ends.
   *
   * @returns the applications to pass to `announce` after the commit
   * @throws QuotaExceeded: the caller's transaction must not be committed
   */
  async change(
    em: SqlEntityManager,
    { row, members }: HeldGame,
    toId: string,
    { by, admitted = false, stays = true, tallies }: ChangeOptions,
  ): Promise<ChangedApps> {
    const { quotas, clock } = this.#parts
    const change = { gameId: row.id, fromId: row.ownerId, toId }
    // The accounts of quotas come after all other rows, as in every transaction that locks them.
    for (const move of this.moves) await move(em, change)
    await quotas.hold(em, change.fromId, toId)
    await quotas.admit(em, toId, 'gamesPerPlayer')
    await quotas.moveGame(em, { ...change, admitted, tallies })
    const states = { before: { owner: change.fromId }, after: { owner: toId } }
    await recordAction(em, clock, { by, action: 'game.transfer', target: { kind: 'game', id: row.id }, ...states })
    await em.nativeDelete(GameTransfer, { gameId: row.id })
    await em.nativeDelete(GameMember, { gameId: row.id, playerId: toId })
    const others = new Map(members)
    others.delete(toId)
    row.ownerId = toId
    row.invited = row.invited.filter((id) => id !== toId)
    if (stays) await this.#members.put(em, { row, members: others }, { playerId: change.fromId, role: 'maker' })
    return transferAppsOfGame(em, clock, { id: row.id, clientId: row.clientId, ...change })
  }

  /** Tells all nodes about the change, after the commit. */
  async announce(game: { id: string; slug: string }, apps: ChangedApps): Promise<void> {
    for (const app of apps) await this.#parts.identity.apps.announce(app)
    await this.#games.announce(game)
  }
}

/**
 * Returns the owners of games, none of which changes until the caller's transaction ends. A permanently deleted game has none.
 *
 * @param gameIds also repeated
 */
export async function holdOwners(
  em: SqlEntityManager,
  { dialect }: Pick<GamesParts['db'], 'dialect'>,
  gameIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(gameIds)]
  if (ids.length === 0) return new Map()
  const rows = await em.execute<{ id: string; ownerId: string }[]>(
    `select id, owner_id as "ownerId" from games where id in (${ids.map(() => '?').join(', ')})
     order by id${keyShare(dialect)}`,
    ids,
  )
  return new Map(rows.map(({ id, ownerId }) => [id, ownerId]))
}

/**
 * Keeps the owners of all games of a player, also of deleted ones, until the caller's transaction ends.
 *
 * @param alsoId another game, which may belong to somebody else by now
 */
export async function holdGamesOf(
  em: SqlEntityManager,
  { dialect }: Pick<GamesParts['db'], 'dialect'>,
  ownerId: string,
  alsoId = '',
): Promise<void> {
  if (dialect !== 'postgres') return
  await em.execute(`select id from games where owner_id = ? or id = ? order by id${keyShare(dialect)}`, [
    ownerId,
    alsoId,
  ])
}

const keyShare = (dialect: GamesParts['db']['dialect']): string => (dialect === 'postgres' ? ' for key share' : '')
