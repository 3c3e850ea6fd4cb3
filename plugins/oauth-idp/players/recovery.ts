import type { Database } from '../../../core/data/database.ts'
import { Conflict, Forbidden } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import { LinkUsed } from '../errors.ts'
import { type AccountEmails, LINK_MS } from './account-emails.ts'
import { OneTimeToken, PlayerRow } from './entities.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { PasswordAuthentication } from './password-authentication.ts'
import type { Players } from './players.ts'
import { normaliseEmail } from './profile.ts'
import type { SignInMethods } from './sign-in-methods.ts'
import { limitAccountEmails } from './sign-up.ts'
import type { WayBack } from './way-back.ts'

interface RecoveryContext {
  db: Database
  events: Events
  rateLimiter: RateLimiter
  players: Players
  passwords: PasswordAuthentication
  signInMethods: SignInMethods
  tokens: OneTimeTokens
  emails: AccountEmails
  linksPerHour: number
}

/** Links in mails prove that their reader owns the address. They set a new password or verify the address. */
export class Recovery {
  readonly #context: RecoveryContext

  constructor(context: RecoveryContext) {
    this.#context = context
  }

  /**
   * Sends a link to set a new password, if the address has an account. The job looks that up later, so that the caller
   * can't tell.
   *
   * @param wayBack where the player goes on to, with the new password
   * @throws InvalidRequest when it is no address; RateLimited
   */
  async askForReset(email: string, address: string, wayBack?: WayBack): Promise<void> {
    const { db, tokens, emails } = this.#context
    const normal = normaliseEmail(email)
    await limitAccountEmails(this.#context, normal, address)
    await emails.enqueue(db.em(), { kind: 'reset', nonce: tokens.newNonce(), email: normal, wayBack })
  }

  async acceptsReset(token: string): Promise<boolean> {
    return (await this.#context.tokens.find('reset', token)) !== null
  }

  /** Returns the address to which a link to set a new password was sent; null when the link is not valid. */
  async emailOf(token: string): Promise<string | null> {
    return (await this.#context.tokens.find('reset', token))?.email ?? null
  }

  /**
   * Sets the password and uses the link up; a refused password leaves the link valid. All sessions end. If the address
   * had not been verified, other sign-in methods of the account may be a stranger's and are removed too. A link by mail
   * verifies it.
   *
   * @returns the way back that was stored with the link
   * @throws LinkUsed, InvalidRequest
   */
  async reset(token: string, password: string): Promise<WayBack | undefined> {
    const { db, events, players, passwords, signInMethods, tokens } = this.#context
    const link = await tokens.find('reset', token)
    const player = link?.playerId ? await players.find(link.playerId) : null
    if (!link || !player || player.disabled || player.email !== link.email) throw new LinkUsed()
    const { wayBack, byStaff = false } = (link.data ?? {}) as { wayBack?: WayBack; byStaff?: boolean }
    const passwordHash = await passwords.hash(password, player)
    await db.transaction(async (em) => {
      if (!(await tokens.consume(em, link))) throw new LinkUsed()
      await passwords.replace(em, player.id, passwordHash)
      await em.nativeDelete(OneTimeToken, { playerId: player.id, purpose: 'reset' })
      if (player.emailVerified) return
      await signInMethods.close(em, player.id)
      if (!byStaff) await em.nativeUpdate(PlayerRow, { id: player.id }, { emailVerified: true })
    })
    await events.emit('player.changed', { playerId: player.id })
    return wayBack
  }

  /** Sends a signed-in player a link that verifies their address. @throws Conflict, RateLimited */
  async askForVerification(playerId: string, address: string): Promise<void> {
    const { db, players, tokens, emails } = this.#context
    const player = await players.find(playerId)
    if (!player?.email || player.emailVerified) throw new Conflict('There is no address to verify.')
    const { email } = player
    await limitAccountEmails(this.#context, email, address)
    const nonce = tokens.newNonce()
    await db.transaction(async (em) => {
      await tokens.issue(em, 'verify', { nonce, playerId, email, lifeMs: LINK_MS })
      await emails.enqueue(em, { kind: 'verify', nonce })
    })
  }

  /**
   * Verifies the address. Only for the signed-in player who requested it: otherwise the recipient could verify their
   * address for an account that a stranger made with it.
   *
   * @throws LinkUsed; Forbidden when another player is signed in
   */
  async verify(token: string, playerId: string): Promise<void> {
    const { db, events, tokens } = this.#context
    const link = await tokens.find('verify', token)
    if (!link?.email) throw new LinkUsed()
    if (link.playerId !== playerId) throw new Forbidden('This link belongs to another account; sign in to that one.')
    await db.transaction(async (em) => {
      if (!(await tokens.consume(em, link))) throw new LinkUsed()
      await em.nativeUpdate(PlayerRow, { id: playerId, email: link.email }, { emailVerified: true })
    })
    await events.emit('player.changed', { playerId })
  }
}
