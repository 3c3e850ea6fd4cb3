import type { SqlEntityManager } from '@mikro-orm/sql'
import { NotFound } from '../../../core/errors.ts'
import { recordActivity } from '../activity/record.ts'
import {
  MakerDisabled,
  NoTransfer,
  NotAMaker,
  Suspended,
  TransferEnded,
  TransferOfAnother,
  TransferOpen,
} from '../errors.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { GameTransfer } from './entities.ts'
import type { HeldGame, Members } from './members.ts'
import type { Ownership } from './ownership.ts'
import type { Transfer } from './schemas.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const VALID_MS = 7 * DAY_MS
/** Expired offers are kept this long, so that the maker is told why it can't be accepted. */
const KEPT_MS = 30 * DAY_MS

/** Offers of games to their makers, who accept within a week. A game has at most one offer. */
export class Transfers {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  readonly #members: Members
  readonly #ownership: Ownership

  constructor(
    parts: GamesParts,
    games: GameLookup,
    { members, ownership }: { members: Members; ownership: Ownership },
  ) {
    this.#parts = parts
    this.#games = games
    this.#members = members
    this.#ownership = ownership
  }

  /**
   * Returns the offer of a game, for its owner and for the maker who can accept it.
   *
   * @throws NotFound when the player does not make the game
   * @throws NoTransfer; TransferEnded when it has expired; TransferOfAnother for the other makers
   */
  async find(playerId: string, idOrSlug: string): Promise<Transfer> {
    const game = await this.#games.mustMake(playerId, idOrSlug)
    const row = this.#mustBeOpen(await this.#parts.db.em().findOne(GameTransfer, { gameId: game.id }))
    if (row.fromId !== playerId && row.toId !== playerId) throw new TransferOfAnother()
    return this.#describe(row)
  }

  /** Returns the same for a page, of a game that the player makes; null where `find` throws. */
  async openFor(playerId: string, { id: gameId }: Game): Promise<Transfer | null> {
    const row = await this.#parts.db.em().findOne(GameTransfer, { gameId })
    if (!row || row.expiresAt <= this.#parts.clock.now()) return null
    return row.fromId === playerId || row.toId === playerId ? this.#describe(row) : null
  }

  /**
   * Offers a game to one of its makers, who is told by mail, where there is mail.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; Suspended; NotAMaker, MakerDisabled; TransferOpen
   */
  async offer(playerId: string, idOrSlug: string, toId: string): Promise<Transfer> {
    const { clock, identity, origins, quotas } = this.#parts
    const game = await this.#games.mustOwn(playerId, idOrSlug)
    const to = await identity.players.find(toId)
    const names = await this.#namesOf(game)
    const createdAt = clock.now()
    const expiresAt = new Date(createdAt.getTime() + VALID_MS)
    // To count the files of all deploys takes time, so it is done once, and not for each view of the offer.
    const storedBytes = await quotas.bytesOfGame(game.id)
    const row = { gameId: game.id, fromId: playerId, toId, storedBytes, createdAt, expiresAt }
    await this.#transaction(game, async (em, held) => {
      if (held.row.ownerId !== playerId) throw new NotFound('game')
      if (held.row.suspendedAt) throw new Suspended()
      if (!to || held.members.get(toId) !== 'maker') throw new NotAMaker()
      if (to.disabled) throw new MakerDisabled(to.name)
      const before = await em.findOne(GameTransfer, { gameId: game.id }, { disableIdentityMap: true })
      if (before && before.expiresAt > createdAt) {
        throw new TransferOpen(names.get(before.toId) ?? 'another maker')
      }
      await em.upsert(GameTransfer, row)
      await recordActivity(em, clock, { gameId: game.id, action: 'transfer.offer', target: toId, detail: to.name })
      const text = `Accept or decline within a week: ${origins.portal}${pathOf(game)}/team`
      await identity.tell(em, toId, `You are offered to own ${game.title}`, text)
    })
    return this.#describe(row)
  }

  /**
   * Ends an offer: its owner takes it back, or the maker declines it.
   *
   * @throws as `find`
   */
  async end(playerId: string, idOrSlug: string): Promise<void> {
    const { clock, identity } = this.#parts
    const game = await this.#games.mustMake(playerId, idOrSlug)
    const names = await this.#namesOf(game)
    await this.#transaction(game, async (em) => {
      const { fromId, toId } = this.#mustBeOpen(await em.findOne(GameTransfer, { gameId: game.id }))
      if (fromId !== playerId && toId !== playerId) throw new TransferOfAnother()
      await em.nativeDelete(GameTransfer, { gameId: game.id })
      const declines = toId === playerId
      const action = declines ? 'transfer.decline' : 'transfer.withdraw'
      await recordActivity(em, clock, { gameId: game.id, action, target: toId })
      const name = names.get(toId) ?? 'The maker'
      if (declines) await identity.tell(em, fromId, `${name} does not take ${game.title}`, 'You stay its owner.')
    })
  }

  /**
   * Makes the maker to whom a game was offered its owner. The former owner becomes a maker.
   *
   * @throws as `find`; Suspended; QuotaExceeded when the new owner may have no more games, or store no more: nothing is
   *   changed
   */
  async accept(playerId: string, idOrSlug: string): Promise<void> {
    const { db, clock, identity, quotas } = this.#parts
    const game = await this.#games.mustMake(playerId, idOrSlug)
    const names = await this.#namesOf(game)
    const mustBeTheirs = async (em: SqlEntityManager) => {
      const offer = this.#mustBeOpen(await em.findOne(GameTransfer, { gameId: game.id }, { disableIdentityMap: true }))
      if (offer.toId !== playerId) throw new TransferOfAnother()
      return offer
    }
    await mustBeTheirs(db.em())
    const tallies = await quotas.readGame(game.id)
    const apps = await this.#transaction(game, async (em, held) => {
      const { row, members } = held
      const { fromId } = await mustBeTheirs(em)
      if (fromId !== row.ownerId || members.get(playerId) !== 'maker') throw new NoTransfer()
      if (row.suspendedAt) throw new Suspended()
      const apps = await this.#ownership.change(em, held, playerId, { by: { id: playerId, role: 'player' }, tallies })
      const [from, to] = [names.get(fromId) ?? 'The former owner', names.get(playerId) ?? 'The new owner']
      const detail = `${from} → ${to}`
      await recordActivity(em, clock, { gameId: game.id, action: 'game.transfer', target: playerId, detail })
      await identity.tell(em, fromId, `${to} owns ${game.title} now`, 'You are one of its makers.')
      await identity.tell(em, playerId, `You own ${game.title} now`, `${from} is one of its makers.`)
      return apps
    })
    await this.#ownership.announce(game, apps)
  }

  /** Deletes offers that ended long ago. */
  async purge(): Promise<void> {
    const before = new Date(this.#parts.clock.now().getTime() - KEPT_MS)
    await this.#parts.db.em().nativeDelete(GameTransfer, { expiresAt: { $lt: before } })
  }

  /** Deletes the offers to a player, in the transaction that ends the account. */
  async removeAllOf(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(GameTransfer, { toId: playerId })
  }

  /** Runs `work` while nothing else changes the team. It checks the player itself, under the lock of the game's row. */
  async #transaction<Result>(
    game: Game,
    work: (em: SqlEntityManager, held: HeldGame) => Promise<Result>,
  ): Promise<Result> {
    const { db } = this.#parts
    // A check before would share the row with other requests, of which none could then lock it.
    for (const action of ['make', 'own']) db.endRecheck(`${action} ${game.id}`)
    return db.transaction((em) => this.#members.hold(em, game.id, work))
  }

  /** Returns the names of owner and makers. Inside a transaction nothing else can be read. */
  #namesOf({ ownerId, makerIds }: Game): Promise<ReadonlyMap<string, string>> {
    return this.#parts.identity.players.namesOf([ownerId, ...makerIds])
  }

  #mustBeOpen(row: GameTransfer | null): GameTransfer {
    if (!row) throw new NoTransfer()
    if (row.expiresAt <= this.#parts.clock.now()) throw new TransferEnded()
    return row
  }

  async #describe({ gameId, fromId, toId, storedBytes, createdAt, expiresAt }: TransferRow): Promise<Transfer> {
    const people = await this.#members.people([fromId, toId])
    const [from, to] = [people.get(fromId), people.get(toId)]
    if (!from || !to) throw new NoTransfer()
    return {
      from,
      to,
      counts: { games: 1, storedBytes: storedBytes ?? (await this.#parts.quotas.bytesOfGame(gameId)) },
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    }
  }
}

type TransferRow = Pick<GameTransfer, 'gameId' | 'fromId' | 'toId' | 'storedBytes' | 'createdAt' | 'expiresAt'>
