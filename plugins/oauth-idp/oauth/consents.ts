import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import { Consent } from './entities.ts'
import { endGrants } from './grants.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** A player revoked a consent; everything that depends on it has ended. */
    'consent.revoked': { consentId: string }
  }
}

/** A game that has received a player's data. */
export interface Connection {
  clientId: string
  name: string
  homepageUrl: string | null
  scope: string[]
  since: Date
}

interface ConsentRow {
  id: string
  scope: string
  asked: number
}

/** Consents of players for applications. Every token of an application depends on one. */
export class Consents {
  readonly #db: Database
  readonly #clock: Clock
  readonly #events: Events
  readonly #standing: TtlCache<true>

  constructor({ db, clock, events }: { db: Database; clock: Clock; events: Events }) {
    this.#db = db
    this.#clock = clock
    this.#events = events
    this.#standing = new TtlCache(clock)
    events.on('consent.revoked', ({ consentId }) => this.#standing.drop(consentId))
  }

  /** Whether a player was asked for all of these scopes and allowed them. */
  async covers(playerId: string, clientId: string, scope: string[]): Promise<boolean> {
    const [consent] = await this.#db.query<ConsentRow>(FIND, [playerId, clientId])
    const allowed = new Set(consent?.scope.split(' '))
    return Boolean(consent?.asked) && scope.every((name) => allowed.has(name))
  }

  /**
   * Stores a consent beside earlier ones; or, with `asked: false`, records that a hosted game received data that needs
   * no consent.
   *
   * @returns the id of the consent, for `holds`
   */
  remember(playerId: string, clientId: string, scope: string[], { asked = true } = {}): Promise<string> {
    const now = this.#clock.now()
    return this.#db.groupCommit(async ({ query, execute }) => {
      await execute(INSERT, [newId('con', now), playerId, clientId, scope.join(' '), asked, now, now])
      const [row] = await query<ConsentRow>(FIND, [playerId, clientId])
      if (!row) throw new Error('A consent is gone while it is being given.')
      const earlier = row.asked ? row.scope.split(' ') : []
      const all = [...new Set([...earlier, ...scope])].sort().join(' ')
      if (asked && (all !== row.scope || !row.asked)) {
        await execute('update oauth_consents set scope = ?, asked = ?, updated_at = ? where id = ?', [
          ...[all, true, now, row.id],
        ])
      }
      return row.id
    })
  }

  /** Whether a consent is still valid, for issuers of signed values that depend on it. */
  async holds(consentId: string): Promise<boolean> {
    const holds = await this.#standing.get(consentId, async () => {
      const rows = await this.#db.query('select id from oauth_consents where id = ?', [consentId])
      return rows.length > 0 ? true : null
    })
    return holds === true
  }

  /** Lists the games that a player has connected, the latest first, without built-in clients. */
  async list(playerId: string): Promise<Connection[]> {
    const rows = await this.#db.query<{
      client_id: string
      name: string
      homepage_url: string | null
      scope: string
      created_at: number
    }>(
      `select c.client_id, a.name, a.homepage_url, c.scope, c.created_at from oauth_consents c
       join oauth_apps a on a.client_id = c.client_id where c.player_id = ? order by c.created_at desc, a.name`,
      [playerId],
    )
    return rows.map((row) => ({
      clientId: row.client_id,
      name: row.name,
      homepageUrl: row.homepage_url,
      scope: row.scope.split(' '),
      since: new Date(row.created_at),
    }))
  }

  /** Revokes a consent and ends the codes, tokens and game sessions that depend on it. @throws NotFound */
  async revoke(playerId: string, clientId: string): Promise<void> {
    const consentId = await this.#db.transaction(async (em) => {
      const consent = await em.findOne(Consent, { playerId, clientId })
      if (!consent) throw new NotFound('connected game')
      await em.nativeDelete(Consent, { playerId, clientId })
      await endGrants(em, { playerId, clientId })
      return consent.id
    })
    await this.#events.emit('consent.revoked', { consentId })
  }
}

const FIND = 'select id, scope, asked from oauth_consents where player_id = ? and client_id = ?'
const INSERT = `insert into oauth_consents (id, player_id, client_id, scope, asked, created_at, updated_at)
  values (?, ?, ?, ?, ?, ?, ?) on conflict (player_id, client_id) do nothing`
