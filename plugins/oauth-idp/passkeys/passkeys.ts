import { isIPv4 } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { Clock } from '../../../core/clock.ts'
import { markOnce } from '../../../core/data/consume-once.ts'
import type { Database } from '../../../core/data/database.ts'
import { Conflict, InvalidRequest, NotFound } from '../../../core/errors.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import { InvalidCredentials } from '../errors.ts'
import type { AccountEmails } from '../players/account-emails.ts'
import { disabledError } from '../players/disabled-account.ts'
import type { Known, Players } from '../players/players.ts'
import { normaliseName } from '../players/profile.ts'
import type { SignInMethods } from '../players/sign-in-methods.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { CHALLENGE_MS, PasskeyChallenges } from './challenges.ts'
import { Passkey } from './entities.ts'

interface PasskeysContext {
  contact: string | null
  db: Database
  clock: Clock
  rateLimiter: RateLimiter
  players: Players
  signInMethods: SignInMethods
  emails: AccountEmails
  /** The origin of the portal. A passkey works on no other origin. */
  portalUrl: string
  siteName: string
  signInAttemptsPerMinute: number
  /** Authenticates challenges. */
  key: Buffer
}

const MOST = 20
/** Ed25519, ES256 and RS256, which devices support. The library's own list includes algorithms experimental in Node. */
const ALGORITHMS = [-8, -7, -257]

// The import takes 40 ms, so only users of passkeys wait for it.
const webauthn = () => import('@simplewebauthn/server')

/**
 * Passkeys (WebAuthn): sign-in by a key on a device. The device verifies its owner, so no second factor is required.
 */
export class Passkeys {
  readonly #context: PasskeysContext
  readonly #challenges: PasskeyChallenges
  readonly #rpId: string
  /**
   * Whether browsers support passkeys at this portal: they require a domain name (WebAuthn section 5.1.2) and HTTPS.
   */
  readonly possible: boolean
  #elsewhere: Promise<string[]> | null = null

  constructor(context: PasskeysContext) {
    this.#context = context
    this.#challenges = new PasskeyChallenges(context)
    const { protocol, hostname } = new URL(context.portalUrl)
    this.#rpId = hostname
    const isAddress = hostname.startsWith('[') || isIPv4(hostname)
    this.possible = !isAddress && (protocol === 'https:' || /(^|\.)localhost$/.test(hostname))
  }

  /**
   * Returns the options for a browser to create a player's passkey.
   *
   * @throws Forbidden when the last sign-in is too long ago; Conflict when there are too many
   */
  async registrationOptions(playerId: string, sessionId: string) {
    const { players, siteName } = this.#context
    await requireRecentSignIn(this.#context, sessionId)
    const { generateRegistrationOptions } = await webauthn()
    const [player, known] = await Promise.all([players.find(playerId), this.list(playerId)])
    if (!player) throw new NotFound('player')
    if (known.length >= MOST) throw new Conflict(`There are ${MOST} passkeys already; remove one first.`)
    return generateRegistrationOptions({
      rpName: siteName,
      rpID: this.#rpId,
      userID: new Uint8Array(Buffer.from(playerId)),
      userName: player.email ?? player.name,
      userDisplayName: player.name,
      challenge: this.#challenges.issue(sessionOf(playerId, sessionId)),
      timeout: CHALLENGE_MS,
      attestationType: 'none',
      supportedAlgorithmIDs: ALGORITHMS,
      excludeCredentials: known.map(({ id, transports }) => ({ id, transports })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
  }

  /**
   * Stores the passkey that a browser created.
   *
   * @param sessionId of the session that asked for the options
   * @throws InvalidRequest, Conflict
   */
  async register(
    { playerId, sessionId }: { playerId: string; sessionId: string },
    label: string,
    response: RegistrationResponseJSON,
  ): Promise<Passkey> {
    const { db, clock, emails } = this.#context
    let answered = ''
    const name = normaliseName(label)
    const { verifyRegistrationResponse } = await webauthn()
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: (challenge) => {
        answered = challenge
        return this.#challenges.isCurrent(challenge, sessionOf(playerId, sessionId))
      },
      expectedOrigin: this.#context.portalUrl,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    }).catch(notVerified)
    if (!verified || !registrationInfo || !(await this.#challenges.spend(answered))) return notVerified()
    const { id, publicKey, counter, transports } = registrationInfo.credential
    const row = {
      id,
      playerId,
      counter: storable(counter),
      label: name,
      lastUsedAt: null,
      createdAt: clock.now(),
      publicKey: Buffer.from(publicKey).toString('base64url'),
      transports: transports ?? [],
      rpId: this.#rpId,
    }
    return db.transaction(async (em) => {
      const inserted = await em.upsert(Passkey, row, { onConflictFields: ['id'], onConflictAction: 'ignore' })
      if (inserted.playerId !== playerId) throw new Conflict('This passkey belongs to an account already.')
      await emails.enqueue(em, { kind: 'sign-in-added', playerId, what: `the passkey “${name}”` })
      return inserted
    })
  }

  /**
   * Returns the options for a browser to request any passkey of this portal. Every view of the sign-in page asks for
   * them, so nothing is stored and the limit is wide: many people may share an address.
   *
   * @param browser the hash by which the browser is known again (sessions/browser-cookie.ts)
   * @throws RateLimited
   */
  async signInOptions({ browser, address }: { browser: string; address: string }) {
    const { rateLimiter, signInAttemptsPerMinute } = this.#context
    await rateLimiter.take(`passkey/${address}`, signInAttemptsPerMinute * 30, 60_000)
    const { generateAuthenticationOptions } = await webauthn()
    const challenge = this.#challenges.issue(browserOf(browser))
    return generateAuthenticationOptions({
      rpID: this.#rpId,
      challenge,
      timeout: CHALLENGE_MS,
      userVerification: 'required',
    })
  }

  /**
   * Returns the owner of a passkey, with the epoch before its verification.
   *
   * @param browser the hash of the browser that asked for the options; null for one that is not known
   * @throws InvalidCredentials, AccountDisabled, RateLimited
   */
  async authenticate(
    response: AuthenticationResponseJSON,
    { browser, address }: { browser: string | null; address: string },
  ): Promise<Known> {
    const { db, clock, players, rateLimiter, signInAttemptsPerMinute } = this.#context
    await rateLimiter.take(`passkey-sign-in/${address}`, signInAttemptsPerMinute, 60_000)
    const em = db.em()
    const passkey = typeof response.id === 'string' ? await em.findOne(Passkey, { id: response.id }) : null
    const player = passkey && (await players.find(passkey.playerId))
    if (!player) throw new InvalidCredentials()
    const { id, counter, transports } = passkey
    let answered = ''
    const { verifyAuthenticationResponse } = await webauthn()
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: (challenge) => {
        answered = challenge
        return browser !== null && this.#challenges.isCurrent(challenge, browserOf(browser))
      },
      expectedOrigin: this.#context.portalUrl,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
      credential: { id, counter, publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')), transports },
    }).catch(() => {
      throw new InvalidCredentials()
    })
    if (!verified || !(await this.#challenges.spend(answered))) throw new InvalidCredentials()
    // Of two concurrent uses with the same counter, one is from a copy.
    const changes = { counter: storable(authenticationInfo.newCounter), lastUsedAt: clock.now(), rpId: this.#rpId }
    if (!(await markOnce(em, Passkey, { id, counter }, changes))) throw new InvalidCredentials()
    if (player.disabled) throw await disabledError(this.#context, player.id)
    const { disabled: _, epoch, ...signedIn } = player
    return { player: signedIn, epoch }
  }

  list(playerId: string): Promise<Passkey[]> {
    return this.#context.db.em().find(Passkey, { playerId }, { orderBy: { createdAt: 'asc', id: 'asc' } })
  }

  /**
   * Returns the host to which a passkey is bound, if it differs from this portal's host and so can't sign in; else
   * null.
   */
  boundElsewhere({ rpId }: Pick<Passkey, 'rpId'>): string | null {
    return rpId == null || rpId === this.#rpId ? null : rpId
  }

  /**
   * Returns the portal's former hosts that have passkeys, which no longer work. It is read once: the host changes only
   * at a restart.
   */
  hostsElsewhere(): Promise<string[]> {
    this.#elsewhere ??= this.#context.db
      .query<{ rp_id: string }>('select distinct rp_id from passkeys where rp_id <> ? order by rp_id', [this.#rpId])
      .then((rows) => rows.map(({ rp_id: host }) => host))
    return this.#elsewhere
  }

  /** @throws NotFound, LastSignInMethod */
  async remove(playerId: string, id: string): Promise<void> {
    const { db, signInMethods } = this.#context
    const rows = await signInMethods.removeOne(db, playerId, (em) => em.nativeDelete(Passkey, { id, playerId }))
    if (rows === 0) throw new NotFound('passkey')
  }
}

/** Who may answer a challenge: a browser that signs in, or the session of a player who adds a passkey. */
const browserOf = (hash: string): string => `browser/${hash}`
const sessionOf = (playerId: string, sessionId: string): string => `session/${playerId}/${sessionId}`

/**
 * The signature counter of a passkey as it is stored. It has 32 bits without a sign, an integer of the database has one.
 * What a copy would show is that its counter is not above the stored one, so the largest value still compares rightly.
 */
const storable = (counter: number): number => Math.min(counter, 2 ** 31 - 1)

function notVerified(): never {
  throw new InvalidRequest('The passkey could not be verified; try again.')
}
