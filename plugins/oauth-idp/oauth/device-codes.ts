import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { markOnce } from '../../../core/data/consume-once.ts'
import type { Database, Statements } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import type { OAuthClient } from '../apps/client.ts'
import { hashSecret } from '../secret-hash.ts'
import { codeOf, grouped, parseCode } from '../short-codes.ts'
import { DeviceCode } from './entities.ts'
import { InvalidGrant, OAuthError } from './errors.ts'
import type { Grants } from './grants.ts'

export const DEVICE_CODE_SECONDS = 600
export const POLL_SECONDS = 5
/** The tolerance for a client that waits exactly its interval but has a slightly fast clock. */
const EARLY_MS = 500

const USER_CODE_LENGTH = 8

/**
 * Refuses clients that registered themselves. Their tokens are for a protected resource only, and the requests of this
 * flow name none.
 *
 * @throws OAuthError `unauthorized_client`
 */
export function mustHaveOwner({ registration }: OAuthClient): void {
  if (registration === null) return
  throw new OAuthError('unauthorized_client', 'A client that registered itself has no device flow here.')
}

/** A device's request for authorization. */
export interface DeviceRequest {
  clientId: string
  scope: string[]
  label: string
  machine: string
}

/** A request that is pending. */
export interface WaitingDevice extends DeviceRequest {
  userHash: string
}

/** The approval of a device. */
export interface Approval {
  playerId: string
  consentId: string
  authTime: Date
}

/** Device codes, by which devices sign in after a player enters a code elsewhere (RFC 8628). */
export class DeviceCodes {
  readonly #db: Database
  readonly #clock: Clock
  readonly #key: Buffer
  readonly #grants: Grants

  /** @param context `key`: 32 bytes that are not stored in the database */
  constructor({ db, clock, key, grants }: { db: Database; clock: Clock; key: Buffer; grants: Grants }) {
    this.#db = db
    this.#clock = clock
    this.#key = key
    this.#grants = grants
  }

  /** @returns both codes, which are not stored; the user code in display form: `BCDF-GHJK` */
  async issue({ scope, ...request }: DeviceRequest): Promise<{ deviceCode: string; userCode: string }> {
    const deviceCode = randomText(32)
    const letters = codeOf(randomBytes(16), USER_CODE_LENGTH)
    await this.#db.em().insert(DeviceCode, {
      ...request,
      deviceHash: hashSecret(deviceCode),
      userHash: this.#hashSecret(letters),
      scope: scope.join(' '),
      decision: 'pending',
      playerId: null,
      consentId: null,
      authTime: null,
      intervalSeconds: POLL_SECONDS,
      polledAt: null,
      expiresAt: new Date(this.#clock.now().getTime() + DEVICE_CODE_SECONDS * 1000),
    })
    return { deviceCode, userCode: grouped(letters) }
  }

  /** Finds the pending request of a user code as typed; null when there is none. */
  async find(userCode: string): Promise<WaitingDevice | null> {
    const letters = parseUserCode(userCode)
    if (!letters) return null
    const row = await this.#db.em().findOne(DeviceCode, { userHash: this.#hashSecret(letters) })
    if (row?.decision !== 'pending' || row.expiresAt <= this.#clock.now()) return null
    const { userHash, clientId, scope, label, machine } = row
    return { userHash, clientId, scope: scope.split(' ').filter(Boolean), label, machine }
  }

  /** Approves or denies a request, once. @returns whether it was still pending */
  decide({ userHash }: WaitingDevice, approval: Approval | null): Promise<boolean> {
    const pending = { userHash, decision: 'pending' as const, expiresAt: { $gt: this.#clock.now() } }
    const decision = approval ? { ...approval, decision: 'approved' as const } : { decision: 'denied' as const }
    return this.#db.transaction((em) => markOnce(em, DeviceCode, pending, decision))
  }

  /**
   * Answers a polling device at the token endpoint.
   *
   * @param give creates the tokens in the transaction that consumes the code
   * @throws OAuthError `authorization_pending`, `slow_down`, `expired_token`, `access_denied`, `invalid_grant`
   */
  async redeem<T>(
    clientId: string,
    deviceCode: string,
    give: (statements: Statements, approval: Approval & { request: DeviceRequest; grantId: string }) => Promise<T>,
  ): Promise<T> {
    const deviceHash = hashSecret(deviceCode)
    const row = await this.#db.em().findOne(DeviceCode, { deviceHash, clientId })
    if (!row) throw new InvalidGrant('The device code is not valid.')
    const now = this.#clock.now()
    if (row.expiresAt <= now) throw new OAuthError('expired_token', 'The device code has expired; begin again.')
    const waited = row.polledAt ? now.getTime() - row.polledAt.getTime() : Number.POSITIVE_INFINITY
    const tooFast = waited < row.intervalSeconds * 1000 - EARLY_MS
    const intervalSeconds = row.intervalSeconds + (tooFast ? POLL_SECONDS : 0)
    if (row.decision === 'pending' || tooFast) {
      await this.#db.em().nativeUpdate(DeviceCode, { deviceHash }, { polledAt: now, intervalSeconds })
    }
    if (tooFast) throw new OAuthError('slow_down', `Ask every ${intervalSeconds} seconds.`)
    if (row.decision === 'pending') throw new OAuthError('authorization_pending', 'The player has not answered yet.')
    if (row.decision === 'denied') throw new OAuthError('access_denied', 'The player said no.')
    const { playerId, consentId, authTime, scope, label, machine } = row
    if (!playerId || !consentId || !authTime) throw new Error('An approved device has nobody who approved it.')
    const request = { clientId, scope: scope.split(' ').filter(Boolean), label, machine }
    return this.#db.groupCommit(async (statements) => {
      await this.#grants.checkPlayer(statements, playerId)
      const mine = await statements.execute('delete from oauth_device_codes where device_hash = ?', [deviceHash])
      if (mine !== 1) throw new InvalidGrant('The device code has been used.')
      return give(statements, { playerId, consentId, authTime, request, grantId: deviceHash })
    })
  }

  /** A plain hash of a short code can be reversed by brute force, so the hash is keyed. */
  #hashSecret(letters: string): string {
    return createHmac('sha256', this.#key).update(letters).digest('base64url')
  }
}

/** Returns the letters of a user code; null when it can't be one. */
export const parseUserCode = (userCode: string): string | null => parseCode(userCode, USER_CODE_LENGTH)
