import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { PROGRAM, recordAction } from '../../../core/data/audit.ts'
import type { Database } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { OneTimeToken } from '../players/entities.ts'
import type { PasswordAuthentication } from '../players/password-authentication.ts'
import type { Players } from '../players/players.ts'
import { fieldError, normaliseEmail } from '../players/profile.ts'
import type { Player } from '../players/schemas.ts'
import type { RemovedMethods, SignInMethods } from '../players/sign-in-methods.ts'

interface AccountRescueContext {
  db: Database
  clock: Clock
  events: Events
  players: Players
  passwords: PasswordAuthentication
  signInMethods: SignInMethods
}

/** Gives an account that somebody else has taken over back to its owner, for the server's administrator. */
export class AccountRescue {
  readonly #context: AccountRescueContext

  constructor(context: AccountRescueContext) {
    this.#context = context
  }

  /**
   * Sets a password without the old one. All sessions and pending links end, and so do the other sign-in methods, which
   * somebody else may have added.
   *
   * @param options.keepMethods leaves the other sign-in methods
   * @returns also what was removed
   * @throws NotFound, InvalidRequest
   */
  async resetPassword(
    email: string,
    password: string,
    { by = PROGRAM, keepMethods = false } = {},
  ): Promise<{ player: Player; removed: RemovedMethods }> {
    let removed: RemovedMethods = {}
    const player = await this.#context.passwords.reset(email, password, by, async (em, playerId) => {
      await em.nativeDelete(OneTimeToken, { playerId })
      if (!keepMethods) removed = await this.#context.signInMethods.close(em, playerId)
    })
    return { player, removed }
  }

  /**
   * Changes the address, to which a lost password is reset. It counts as not verified, so that a password that is reset
   * by mail removes the other sign-in methods. All sessions and pending links end.
   *
   * @throws NotFound, InvalidRequest, EmailTaken
   */
  async changeEmail(from: string, to: string, by = PROGRAM): Promise<Player> {
    const { db, clock, events, players } = this.#context
    const email = normaliseEmail(to)
    const player = await players.findByEmail(from)
    if (!player) throw new NotFound('player')
    if (player.email === email) throw fieldError('email', 'This is the address already.')
    const change = async (em: SqlEntityManager) => {
      const changes = { email, emailVerified: false }
      await players.updateUnique(em, player.id, changes, { email: player.email })
      await em.nativeDelete(OneTimeToken, { playerId: player.id })
      await players.endAccess(em, player.id)
      // Rows of the audit stay after the account, so they have no addresses.
      await recordAction(em, clock, { by, action: 'player.email', target: { kind: 'player', id: player.id } })
    }
    await db.transaction(change, { alone: true })
    await events.emit('player.changed', { playerId: player.id })
    return { ...player, email, emailVerified: false }
  }
}
