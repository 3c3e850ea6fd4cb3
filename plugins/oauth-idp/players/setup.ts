import { createHmac, timingSafeEqual } from 'node:crypto'
import { consumeOnce } from '../../../core/data/consume-once.ts'
import type { Database } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import { SetupLinkUsed } from '../errors.ts'
import { PlayerRow, SetupLink } from './entities.ts'
import type { NewPlayer, Players } from './players.ts'
import type { Player } from './schemas.ts'

const ID = 'first-admin'
/** A disabled administrator can't let anybody in, so they do not count. */
const WORKING_ADMIN = { isAdmin: true, disabled: false }

/**
 * The first administrator's account. While there is none, the one-time link creates it. The token is derived from a
 * stored nonce and a key outside of the database, so the link can be printed at every start while the database alone
 * does not reveal it.
 */
export class Setup {
  readonly #db: Database
  readonly #players: Players
  readonly #key: Buffer
  readonly #portalUrl: string
  #isClaimed = false

  constructor({ db, players, key, portalUrl }: { db: Database; players: Players; key: Buffer; portalUrl: string }) {
    this.#db = db
    this.#players = players
    this.#key = key
    this.#portalUrl = portalUrl
  }

  /** Returns the link, or null once there is an administrator. */
  async url(): Promise<string | null> {
    const em = this.#db.em()
    if (await em.count(PlayerRow, WORKING_ADMIN)) return null
    // When two nodes start concurrently, the first one's nonce is kept.
    await em.upsert(
      SetupLink,
      { id: ID, nonce: randomText(32) },
      { onConflictAction: 'ignore', onConflictFields: ['id'] },
    )
    const link = await this.#db.em().findOneOrFail(SetupLink, { id: ID })
    return `${this.#portalUrl}/setup/${this.#tokenOf(link)}`
  }

  /** Whether a token belongs to the link and is still valid. */
  async accepts(token: string): Promise<boolean> {
    return (await this.#linkOf(token)) !== null && (await this.#db.em().count(PlayerRow, WORKING_ADMIN)) === 0
  }

  /** Whether the server has no administrator yet. Once it has one, the database is not queried again. */
  async isWaiting(): Promise<boolean> {
    if (!this.#isClaimed) this.#isClaimed = (await this.#db.em().count(PlayerRow, WORKING_ADMIN)) > 0
    return !this.#isClaimed
  }

  /**
   * Creates the account and uses the link up. A refused field leaves the link valid.
   *
   * @throws SetupLinkUsed, and what `Players.create` throws
   */
  async complete(token: string, fields: NewPlayer): Promise<Player> {
    const link = await this.#linkOf(token)
    if (!link) throw new SetupLinkUsed()
    const row = await this.#players.prepare({ ...fields, isAdmin: true }, 'setup')
    return this.#db.transaction(async (em) => {
      const mine = await consumeOnce(em, SetupLink, { id: ID, nonce: link.nonce })
      if (!mine || (await em.count(PlayerRow, WORKING_ADMIN))) throw new SetupLinkUsed()
      return this.#players.insert(em, row)
    })
  }

  async #linkOf(token: string): Promise<SetupLink | null> {
    const link = await this.#db.em().findOne(SetupLink, { id: ID })
    if (!link) return null
    const [given, expected] = [Buffer.from(token), Buffer.from(this.#tokenOf(link))]
    return given.length === expected.length && timingSafeEqual(given, expected) ? link : null
  }

  #tokenOf({ nonce }: SetupLink): string {
    return createHmac('sha256', this.#key).update(nonce).digest('base64url')
  }
}
