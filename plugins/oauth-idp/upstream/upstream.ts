import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { Conflict, Forbidden, NotFound } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { LinkUsed, SignUpClosed } from '../errors.ts'
import type { AccountEmails } from '../players/account-emails.ts'
import { disabledError } from '../players/disabled-account.ts'
import { mustNotBeBlocked } from '../players/email-domains.ts'
import type { OneTimeTokens } from '../players/one-time-tokens.ts'
import type { NewRow, Players } from '../players/players.ts'
import { normaliseEmail, normaliseName } from '../players/profile.ts'
import type { SignInMethods } from '../players/sign-in-methods.ts'
import { isRecentSignIn, requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { UpstreamAccount } from './entities.ts'
import type { Provider, ProviderChoice, UpstreamProfile } from './providers.ts'

interface UpstreamContext {
  contact: string | null
  db: Database
  clock: Clock
  players: Players
  signInMethods: SignInMethods
  tokens: OneTimeTokens
  emails: AccountEmails
  providers: Provider[]
  blockedEmailDomains: readonly string[]
}

/** The result of a sign-in with a provider: a player, or a question to the possible owner of the account. */
export type Outcome = { playerId: string; epoch?: number } | { question: string }

/** Asks a player whether this external account may sign them in from now on. */
export interface Question {
  provider: string
  subject: string
  label: string
  /** Where the sign-in began. */
  returnTo?: string
}

const QUESTION_MS = 900_000

/**
 * External accounts that sign players in. One is connected only when the signed-in player confirms it: equal email
 * addresses are a reason to ask, never to connect.
 */
export class Upstream {
  readonly #context: UpstreamContext

  constructor(context: UpstreamContext) {
    this.#context = context
  }

  /** The providers on the sign-in page. */
  get choices(): ProviderChoice[] {
    return this.#context.providers.map(({ name, label }) => ({ name, label }))
  }

  /** @throws NotFound */
  provider(name: string): Provider {
    const provider = this.#context.providers.find((candidate) => candidate.name === name)
    if (!provider) throw new NotFound('provider')
    return provider
  }

  /**
   * Resolves a provider's response to the player it signs in.
   *
   * @param currentId the player who is signed in already and wants to connect the account
   * @param returnTo where the sign-in began, for a question
   * @throws AccountDisabled; SignUpClosed when it would create an account and may not
   */
  async arrive(
    { name: provider }: Provider,
    profile: UpstreamProfile,
    { currentId, returnTo }: { currentId: string | null; returnTo: string },
  ): Promise<Outcome> {
    const { db, clock, players } = this.#context
    const em = db.em()
    const { subject } = profile
    const known = await em.findOne(UpstreamAccount, { provider, subject })
    if (currentId) {
      if (known?.playerId === currentId) return { playerId: currentId }
      if (known) throw new Conflict('This account is connected to another player here.')
      return { question: await this.#ask(currentId, { provider, profile, returnTo }) }
    }
    if (known) {
      const player = await players.find(known.playerId)
      if (!player) throw new NotFound('player')
      if (player.disabled) throw await disabledError(this.#context, player.id)
      await em.nativeUpdate(UpstreamAccount, { provider, subject }, { lastUsedAt: clock.now() })
      return { playerId: player.id, epoch: player.epoch }
    }
    const email = profile.email && profile.emailVerified ? addressOf(profile.email) : null
    const namesake = email ? await players.findByEmail(email) : null
    if (namesake) return { question: await this.#ask(namesake.id, { provider, profile, returnTo }) }
    if (!players.signUpIsOpen) throw new SignUpClosed()
    return { playerId: await this.#create(provider, profile, email) }
  }

  /** Returns the question for a player. @throws LinkUsed; Forbidden when it is for another player */
  async question(token: string, playerId: string): Promise<Question> {
    const row = await this.#context.tokens.find('connect', token)
    if (!row) throw new LinkUsed()
    if (row.playerId !== playerId) throw new Forbidden('This question was for another account; sign in to that one.')
    return row.data as unknown as Question
  }

  /**
   * Connects the account after the player's confirmation.
   *
   * @returns the path where the sign-in began
   * @throws LinkUsed, Conflict; Forbidden when the question is for another player, or the last sign-in is too long ago
   */
  async connect(token: string, { playerId, sessionId }: { playerId: string; sessionId: string }): Promise<string> {
    const { db, clock, tokens, emails } = this.#context
    const { provider, subject, label, returnTo = '/' } = await this.question(token, playerId)
    await requireRecentSignIn(this.#context, sessionId)
    const row = await tokens.find('connect', token)
    await db.transaction(async (em) => {
      if (!row || !(await tokens.consume(em, row))) throw new LinkUsed()
      const known = await em.findOne(UpstreamAccount, { provider, subject })
      if (known) throw new Conflict('This account is connected already.')
      const now = clock.now()
      await em.insert(UpstreamAccount, { provider, subject, playerId, label, createdAt: now, lastUsedAt: now })
      const what = `the account “${label}” of ${this.provider(provider).label}`
      await emails.enqueue(em, { kind: 'sign-in-added', playerId, what })
    })
    return returnTo
  }

  /** Whether the player of a session may connect an account, or has to sign in again first. */
  mayConnect(sessionId: string): Promise<boolean> {
    return isRecentSignIn(this.#context, sessionId)
  }

  list(playerId: string): Promise<UpstreamAccount[]> {
    return this.#context.db.em().find(UpstreamAccount, { playerId }, { orderBy: { createdAt: 'asc', provider: 'asc' } })
  }

  /** @throws NotFound, LastSignInMethod */
  async disconnect(playerId: string, provider: string, subject: string): Promise<void> {
    const { db, signInMethods } = this.#context
    const rows = await signInMethods.removeOne(db, playerId, (em) =>
      em.nativeDelete(UpstreamAccount, { playerId, provider, subject }),
    )
    if (rows === 0) throw new NotFound('connected account')
  }

  #ask(
    playerId: string,
    { provider, profile, returnTo }: { provider: string; profile: UpstreamProfile; returnTo: string },
  ): Promise<string> {
    const { db, tokens } = this.#context
    const data: Question = { provider, subject: profile.subject, label: labelOf(profile), returnTo }
    return tokens.issue(db.em(), 'connect', { playerId, data: { ...data }, lifeMs: QUESTION_MS })
  }

  async #create(provider: string, profile: UpstreamProfile, email: string | null): Promise<string> {
    const { db, clock, players } = this.#context
    if (email) mustNotBeBlocked(email, this.#context.blockedEmailDomains)
    const createdAt = clock.now()
    const row: NewRow = {
      id: newId('ply', createdAt),
      email,
      emailVerified: email !== null,
      name: nameOf(profile),
      avatar: null,
      passwordHash: null,
      guest: false,
      isAdmin: false,
      disabled: false,
      epoch: 0,
      createdAt,
    }
    const { subject } = profile
    await db.transaction(async (em) => {
      await players.insert(em, row)
      const account = { provider, subject, playerId: row.id, label: labelOf(profile), createdAt, lastUsedAt: createdAt }
      await em.insert(UpstreamAccount, account)
    })
    return row.id
  }
}

const labelOf = ({ email, name, subject }: UpstreamProfile): string => (email || name || subject).slice(0, 254)

function nameOf({ name, email }: UpstreamProfile): string {
  for (const candidate of [name, email?.split('@')[0] ?? '']) {
    try {
      return normaliseName([...candidate].slice(0, 60).join(''))
    } catch {
      // The candidate is not a valid name, so the next one is tried.
    }
  }
  return 'Player'
}

function addressOf(email: string): string | null {
  try {
    return normaliseEmail(email)
  } catch {
    return null
  }
}
