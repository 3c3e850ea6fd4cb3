import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { runWithoutCaller } from '../../../core/observe/caller.ts'
import { deleteAppsOfPlayer } from '../apps/app-deletion.ts'
import type { Apps } from '../apps/apps.ts'
import { LastAdmin } from '../errors.ts'
import { scopeNames } from '../oauth/consents.ts'
import { Consent } from '../oauth/entities.ts'
import { Passkey } from '../passkeys/entities.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { UpstreamAccount } from '../upstream/entities.ts'
import type { Avatars } from './avatars.ts'
import { lockAccount, lockAdmins } from './caller-check.ts'
import { DataExport } from './data-export.ts'
import { OneTimeToken, PlayerRow, UnreadMessage } from './entities.ts'
import { describeLosses, type LossCounter } from './losses.ts'
import type { Players } from './players.ts'
import type { Decisions, Settlement, SharedContent, SharedItem } from './shared-content.ts'

interface AccountDeletionContext {
  db: Database
  events: Events
  players: Players
  sessions: Sessions
  apps: Apps
  avatars: Avatars
}

/** Deletes a plugin's data about a player in the transaction that ends the account. Nothing else may be awaited. */
export type Cleanup = (em: SqlEntityManager, playerId: string) => Promise<unknown>

interface DeletionOptions {
  condition?: (em: SqlEntityManager) => Promise<boolean>
  decisions?: Decisions | null
}

/** Deletes accounts and exports their data. */
export class AccountDeletion {
  readonly #context: AccountDeletionContext
  readonly data = new DataExport()
  /** The exporters, by their name in the file. Plugins add theirs. */
  readonly exporters = this.data.exporters
  /** The cleanups of a deleted account. Plugins add theirs. */
  readonly cleanups: Cleanup[] = []
  /** What goes with an account, for the pages that end one. Plugins add theirs. */
  readonly losses: LossCounter[] = []
  /** What others use as well. Plugins add theirs. */
  readonly shared: SharedContent[] = []

  constructor(context: AccountDeletionContext) {
    this.#context = context
    const { db, players, sessions, apps } = context
    this.exporters.set('player', async (id) => {
      const player = await players.find(id)
      if (!player) throw new NotFound('player')
      const { epoch: _, disabled: __, ...own } = player
      return own
    })
    this.exporters.set('sessions', async (id) =>
      (await sessions.list(id)).map(({ userAgent, createdAt, lastSeenAt }) => ({ userAgent, createdAt, lastSeenAt })),
    )
    this.exporters.set('passkeys', async (playerId) =>
      (await db.em().find(Passkey, { playerId })).map(({ label, createdAt, lastUsedAt }) => ({
        label,
        createdAt,
        lastUsedAt,
      })),
    )
    this.exporters.set('connectedAccounts', async (playerId) =>
      (await db.em().find(UpstreamAccount, { playerId })).map(({ provider, subject, label, createdAt }) => ({
        provider,
        subject,
        label,
        createdAt,
      })),
    )
    this.exporters.set('connectedGames', async (playerId) =>
      (await db.em().find(Consent, { playerId })).map(({ clientId, scope, updatedAt }) => ({
        clientId,
        scope: scopeNames(scope),
        updatedAt,
      })),
    )
    this.exporters.set('applications', (id) => apps.export(id))
  }

  /** Returns what others use as well, about which the player decides. */
  async sharedContentOf(playerId: string): Promise<SharedItem[]> {
    return (await Promise.all(this.shared.map((shared) => shared.of(playerId)))).flat()
  }

  /** Says what goes with the account, in sentences for the page that ends it; empty for nothing. */
  async lossesOf(playerId: string): Promise<string> {
    const losses = await Promise.all(this.losses.map((count) => count(playerId)))
    return describeLosses(losses.flatMap((each) => each ?? []))
  }

  /**
   * Deletes the account and its data, at once and permanently; games keep the results that they stored under its id.
   * Data of plugins is deleted in the same transaction (`cleanups`); `player.deleted` is for their caches.
   *
   * @param options `condition`: checked in that transaction; when it does not hold, the account stays. `decisions`: what
   *   becomes of what others use as well; null deletes them all
   * @throws NotFound, LastAdmin; InvalidRequest while something is not decided
   */
  async remove(playerId: string, { condition, decisions = new Map() }: DeletionOptions = {}): Promise<void> {
    const { db, events, players, apps, avatars } = this.#context
    const settlements: Settlement[] = []
    for (const shared of this.shared) settlements.push(await shared.prepare(playerId, decisions))
    const remove = async (em: SqlEntityManager) => {
      if (condition && !(await condition(em))) return null
      const admins = await lockAdmins(em, db)
      if (admins.length === 1 && admins[0] === playerId) throw new LastAdmin()
      await lockAccount(em, db, playerId)
      const announcements: (() => Promise<unknown>)[] = []
      for (const settle of settlements) announcements.push(await settle(em))
      await players.endAccess(em, playerId)
      for (const entity of [Consent, OneTimeToken, Passkey, UnreadMessage, UpstreamAccount]) {
        await em.nativeDelete(entity as typeof Consent, { playerId })
      }
      for (const clear of this.cleanups) await clear(em, playerId)
      if ((await em.nativeDelete(PlayerRow, { id: playerId })) === 0) throw new NotFound('player')
      return { announcements, apps: await deleteAppsOfPlayer(em, playerId) }
    }
    const ended = await db.transaction(remove, { alone: true })
    if (!ended) return
    // The caller may have been this player, who may do nothing any more.
    await runWithoutCaller(async () => {
      for (const announce of ended.announcements) await announce()
      for (const app of ended.apps) await apps.announce(app)
      await events.emit('player.changed', { playerId })
      await events.emit('player.deleted', { playerId })
      await avatars.deleteFiles(playerId)
    })
  }
}
