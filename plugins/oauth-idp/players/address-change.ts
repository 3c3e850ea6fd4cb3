import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { Forbidden, NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import { InvalidCredentials, LinkUsed } from '../errors.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { type AccountEmails, LINK_MS } from './account-emails.ts'
import { mustNotBeBlocked } from './email-domains.ts'
import { OneTimeToken } from './entities.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { PasswordAuthentication } from './password-authentication.ts'
import type { Players } from './players.ts'
import { fieldError, normaliseEmail } from './profile.ts'
import { limitAccountEmails } from './sign-up.ts'

interface AddressChangeContext {
  db: Database
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  players: Players
  passwords: PasswordAuthentication
  tokens: OneTimeTokens
  emails: AccountEmails
  linksPerHour: number
  blockedEmailDomains: readonly string[]
  /** Whether the address of a new account is verified by a link; then a first address is, too. */
  verifyEmail: boolean
}

/** The player's request, with proof of their identity. */
export interface AddressChangeRequest {
  playerId: string
  sessionId: string
  email: string
  password: string
  /** The caller's address, for rate limits. */
  address: string
}

/**
 * Changes the email address of an account, or adds one to an account that has none, such as one of a provider. The
 * address gives access to everything (it resets a lost password), so a change requires the password or a recent sign-in,
 * the new address is verified by a link, and the old address is notified. A first address is verified where that of a new
 * account is.
 */
export class AddressChange {
  readonly #context: AddressChangeContext

  constructor(context: AddressChangeContext) {
    this.#context = context
  }

  /**
   * Sends a link to the new address. Whether that address has an account is checked when the mail is written, so that
   * the caller can't tell. Without `auth.verifyEmail` a first address counts at once, as that of a new account does; it
   * is not verified then.
   *
   * @returns whether a mail is being sent
   * @throws InvalidRequest, EmailDomainBlocked, InvalidCredentials, RateLimited; Forbidden when the last sign-in is too
   *   long ago; NotFound for a guest; EmailTaken without a mail
   */
  async ask({ playerId, sessionId, email, password, address }: AddressChangeRequest): Promise<boolean> {
    const { db, events, players, passwords, tokens, emails, verifyEmail } = this.#context
    const player = await players.find(playerId)
    if (!player || player.isGuest) throw new NotFound('address')
    const next = normaliseEmail(email)
    const { email: from } = player
    mustNotBeBlocked(next, this.#context.blockedEmailDomains)
    if (next === from) throw fieldError('email', 'This is your address already.')
    if (from !== null && (await passwords.has(playerId))) await this.#mustKnow(from, password, address)
    else await requireRecentSignIn(this.#context, sessionId)
    await limitAccountEmails(this.#context, next, address)
    if (from === null && !verifyEmail) {
      const add = (em: SqlEntityManager) =>
        players.updateUnique(em, playerId, { email: next, emailVerified: false }, { email: from })
      await db.transaction(add, { alone: true })
      await events.emit('player.changed', { playerId })
      return false
    }
    const nonce = tokens.newNonce()
    await db.transaction(async (em) => {
      // Only the latest request is valid.
      await em.nativeDelete(OneTimeToken, { playerId, purpose: 'new-email' })
      await tokens.issue(em, 'new-email', { nonce, playerId, email: next, data: { from }, lifeMs: LINK_MS })
      await emails.enqueue(em, { kind: 'new-email', nonce })
    })
    return true
  }

  /** Returns the address of a link, for the confirmation page. @throws LinkUsed, Forbidden */
  async addressOf(token: string, playerId: string): Promise<string> {
    return (await this.#find(token, playerId)).email
  }

  /**
   * Makes the new address the verified address of the account, and invalidates links that were sent to the old one.
   * Only for the signed-in player who requested it, as with `Recovery.verify`.
   *
   * @returns whether it is the first address of the account
   * @throws LinkUsed; Forbidden when another player is signed in; EmailTaken when another account has taken the address
   *   meanwhile
   */
  async confirm(token: string, playerId: string): Promise<boolean> {
    const { db, events, players, tokens, emails } = this.#context
    const { link, email, from } = await this.#find(token, playerId)
    const player = await players.find(playerId)
    if (!player || player.email !== from) throw new LinkUsed()
    const change = async (em: SqlEntityManager) => {
      if (!(await tokens.consume(em, link))) throw new LinkUsed()
      await players.updateUnique(em, playerId, { email, emailVerified: true }, { email: from })
      await em.nativeDelete(OneTimeToken, { playerId, purpose: { $in: ['reset', 'verify', 'new-email'] } })
      if (from !== null) await emails.enqueue(em, { kind: 'address-changed', playerId, to: from })
    }
    await db.transaction(change, { alone: true })
    await events.emit('player.changed', { playerId })
    return from === null
  }

  async #find(token: string, playerId: string) {
    const link = await this.#context.tokens.find('new-email', token)
    if (!link?.email) throw new LinkUsed()
    const { from } = link.data as { from: string | null }
    if (link.playerId !== playerId) throw new Forbidden('This link belongs to another account; sign in to that one.')
    return { link, email: link.email, from }
  }

  async #mustKnow(email: string, password: string, address: string): Promise<void> {
    try {
      await this.#context.passwords.authenticate({ email, password }, address)
    } catch (error) {
      throw error instanceof InvalidCredentials ? fieldError('password', 'This is not your password.') : error
    }
  }
}
