import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import { newId } from '../../../core/ids.ts'
import { GuestsNotWelcome, InvalidCredentials, InvitationUsed, LinkUsed, SignUpClosed } from '../errors.ts'
import { hashSecret } from '../secret-hash.ts'
import { type AccountEmails, LINK_MS } from './account-emails.ts'
import { mustNotBeBlocked } from './email-domains.ts'
import { OneTimeToken, PlayerRow } from './entities.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { PasswordHasher } from './passwords.ts'
import type { NewPlayer, NewRow, Players } from './players.ts'
import { addressOrNothing, normaliseName } from './profile.ts'
import type { Player } from './schemas.ts'
import type { SignInMethods } from './sign-in-methods.ts'
import type { SignUpChallenge } from './sign-up-challenge.ts'
import type { WayBack } from './way-back.ts'

interface SignUpContext {
  db: Database
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  hasher: PasswordHasher
  players: Players
  signInMethods: SignInMethods
  tokens: OneTimeTokens
  emails: AccountEmails
  challenge: SignUpChallenge
  blockedEmailDomains: readonly string[]
  signUp: 'open' | 'invite' | 'closed'
  guests: boolean
  verifyEmail: boolean
  signUpsPerMinute: number
  linksPerHour: number
}

export interface SignUpOptions {
  /** The caller's address, by which new accounts are limited. */
  address: string
  /** The proof of work. An invited person needs none, and a guest has given one. */
  work?: string | undefined
  /** The token of an invitation. */
  invitation?: string | undefined
  /** The guest whom this account replaces; the player id is unchanged. */
  guestId?: string | undefined
  /** Where the player goes on to, if a mailed link completes the account. */
  wayBack?: WayBack | undefined
}

/** An account that waits for the verification of its address. */
interface Waiting {
  name: string
  passwordHash: string
  invitation: string | null
  wayBack?: WayBack | undefined
}

const GUEST_DAYS = 30
const AT_ONCE = 500
const LONELY_GUESTS = `select id from players p where guest and created_at < ? and id > ?
  and not exists (select 1 from sessions s where s.player_id = p.id) order by id limit ${AT_ONCE}`

/** Creates players: accounts by invitation or open sign-up, and guests. */
export class SignUp {
  readonly #context: SignUpContext

  constructor(context: SignUpContext) {
    this.#context = context
  }

  /** The proof of work that new accounts and guests need. */
  get challenge(): SignUpChallenge {
    return this.#context.challenge
  }

  get takesGuests(): boolean {
    return this.#context.guests
  }

  /**
   * Creates an account, or, with `auth.verifyEmail`, sends a link that does. The result is the same for known and
   * unknown addresses.
   *
   * @returns the player, or null when a mail is being sent
   * @throws SignUpClosed; InvitationUsed; RateLimited; EmailTaken and what `Players.prepare` throws;
   *   EmailDomainBlocked; ChallengeRequired, ChallengeInvalid
   */
  async begin(fields: NewPlayer, options: SignUpOptions): Promise<Player | null> {
    const { db, players, tokens, emails, signUp, verifyEmail, rateLimiter, signUpsPerMinute } = this.#context
    const { challenge, blockedEmailDomains } = this.#context
    const { address, work, invitation, guestId, wayBack } = options
    if (signUp !== 'open' && (signUp === 'closed' || !invitation)) throw new SignUpClosed()
    if (invitation && !(await tokens.find('invite', invitation))) throw new InvitationUsed()
    await rateLimiter.take(`sign-up/${address}`, signUpsPerMinute, 60_000)
    // An address that is refused, or can't be one, costs no proof. `prepare` reports the latter with the other fields.
    mustNotBeBlocked(addressOrNothing(fields.email), blockedEmailDomains)
    if (!invitation && !guestId) await challenge.accept(work, address)
    const row = await players.prepare(fields, address)
    const invitationHash = invitation ? tokens.hashOf('invite', invitation) : null
    if (!verifyEmail) return this.#write(row, { invitationHash, guestId })

    const email = row.email as string
    await limitAccountEmails(this.#context, email, address)
    const nonce = tokens.newNonce()
    const data = { name: row.name, passwordHash: row.passwordHash as string, invitation: invitationHash, wayBack }
    await db.transaction(async (em) => {
      await tokens.issue(em, 'sign-up', { nonce, email, playerId: guestId ?? null, data, lifeMs: LINK_MS })
      await emails.enqueue(em, { kind: 'sign-up', nonce })
    })
    return null
  }

  /** Requires a valid invitation. @throws InvitationUsed when it is unknown or no longer valid; SignUpClosed */
  async mustBeInvited(invitation: string): Promise<void> {
    if (this.#context.signUp === 'closed') throw new SignUpClosed()
    if (!(await this.#context.tokens.find('invite', invitation))) throw new InvitationUsed()
  }

  /** Whether the link of a mail can still create an account. */
  async isWaiting(token: string): Promise<boolean> {
    return (await this.#context.tokens.find('sign-up', token)) !== null
  }

  /**
   * Creates the account whose address the link confirms. It requires the password again: the recipient of the mail may
   * not be the person who chose it, and must not confirm an account that a stranger made in their name.
   *
   * @returns the player, and the way back that was stored with the link
   * @throws LinkUsed, InvalidCredentials, RateLimited, EmailTaken
   */
  async confirm(token: string, password: string): Promise<{ player: Player; wayBack: WayBack | undefined }> {
    const { clock, hasher, tokens, rateLimiter } = this.#context
    const waiting = await tokens.find('sign-up', token)
    if (!waiting?.email) throw new LinkUsed()
    await rateLimiter.take(`confirm/${waiting.tokenHash}`, 10, 60_000)
    const { name, passwordHash, invitation, wayBack } = waiting.data as unknown as Waiting
    if (!(await hasher.verify(password, passwordHash, waiting.tokenHash))) throw new InvalidCredentials()
    const createdAt = clock.now()
    const row: NewRow = {
      id: newId('ply', createdAt),
      email: waiting.email,
      emailVerified: true,
      name,
      avatar: null,
      passwordHash,
      guest: false,
      isAdmin: false,
      disabled: false,
      epoch: 0,
      createdAt,
    }
    const guestId = waiting.playerId ?? undefined
    return { player: await this.#write(row, { invitationHash: invitation, guestId, waiting }), wayBack }
  }

  /**
   * Creates a guest, who has only a name.
   *
   * @throws GuestsNotWelcome, InvalidRequest, RateLimited, ChallengeRequired, ChallengeInvalid
   */
  async guest(name: string, { address, work }: Pick<SignUpOptions, 'address' | 'work'>): Promise<Player> {
    const { db, clock, players, rateLimiter, signUpsPerMinute } = this.#context
    if (!this.takesGuests) throw new GuestsNotWelcome()
    const createdAt = clock.now()
    const row: NewRow = {
      id: newId('ply', createdAt),
      email: null,
      emailVerified: false,
      name: normaliseName(name),
      avatar: null,
      passwordHash: null,
      guest: true,
      isAdmin: false,
      disabled: false,
      epoch: 0,
      createdAt,
    }
    await rateLimiter.take(`sign-up/${address}`, signUpsPerMinute, 60_000)
    await this.challenge.accept(work, address)
    return players.insert(db.em(), row)
  }

  /** Returns the ids of guests with no way to sign in again: no session, passkey, token … */
  async lostGuests(): Promise<string[]> {
    const { db, clock, signInMethods } = this.#context
    const before = new Date(clock.now().getTime() - GUEST_DAYS * 86_400_000)
    const lost: string[] = []
    let last: string | undefined = ''
    // The query runs page by page, so that kept guests do not hide the others behind them.
    while (last !== undefined && lost.length < AT_ONCE) {
      const rows: { id: string }[] = await db.query(LONELY_GUESTS, [before, last])
      const ids = rows.map(({ id }) => id)
      const open = ids.length > 0 ? await signInMethods.openFor(db.em(), ids) : new Set()
      lost.push(...ids.filter((id) => !open.has(id)))
      last = ids.at(AT_ONCE - 1)
    }
    return lost
  }

  /**
   * Whether a guest is still lost, in the transaction that removes them: they may have returned or created an account.
   */
  async isLost(em: SqlEntityManager, id: string): Promise<boolean> {
    const guest = await em.findOne(PlayerRow, { id, guest: true }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    return guest !== null && !(await this.#context.signInMethods.openFor(em, [id])).has(id)
  }

  async #write(
    row: NewRow,
    {
      invitationHash,
      guestId,
      waiting,
    }: { invitationHash: string | null; guestId?: string | undefined; waiting?: OneTimeToken },
  ): Promise<Player> {
    const { db, players, tokens, events } = this.#context
    const write = async (em: SqlEntityManager) => {
      if (waiting && !(await tokens.consume(em, waiting))) throw new LinkUsed()
      const invitation = invitationHash && { purpose: 'invite', tokenHash: invitationHash }
      if (invitation && !(await tokens.consume(em, invitation))) throw new InvitationUsed()
      // Other sign-ups with the same address may be pending; they end because this one proved ownership of the address.
      if (waiting) await em.nativeDelete(OneTimeToken, { purpose: 'sign-up', email: row.email })
      return guestId ? this.#upgrade(em, guestId, row) : players.insert(em, row)
    }
    const player = await db.transaction(write, { alone: true })
    if (guestId) await events.emit('player.changed', { playerId: guestId })
    return player
  }

  /** Converts the guest to an account with the same id, so that games recognise the player. */
  async #upgrade(em: SqlEntityManager, guestId: string, row: NewRow): Promise<Player> {
    const { players, signInMethods } = this.#context
    const { email, emailVerified, name, passwordHash } = row
    await players.updateUnique(em, guestId, { email, emailVerified, name, passwordHash, guest: false }, { guest: true })
    // Others with access to the guest, such as on a shared machine, lose it: old sessions, tokens and passkeys end.
    await players.endAccess(em, guestId)
    await signInMethods.close(em, guestId)
    const upgraded = await em.findOne(PlayerRow, { id: guestId })
    if (!upgraded) throw new NotFound('player')
    return players.describe(upgraded)
  }
}

/**
 * Limits mail to an address, so that nobody can use it for harassment. The limit is the same for known and unknown
 * addresses.
 *
 * @throws RateLimited
 */
export async function limitAccountEmails(
  { rateLimiter, linksPerHour }: { rateLimiter: RateLimiter; linksPerHour: number },
  email: string,
  address: string,
): Promise<void> {
  await rateLimiter.take(`emails/${address}`, linksPerHour * 3, 3_600_000)
  await rateLimiter.take(`emails/${hashSecret(email)}`, linksPerHour, 3_600_000)
}
