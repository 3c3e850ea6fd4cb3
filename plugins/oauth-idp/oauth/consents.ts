import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import { Consent } from './entities.ts'
import { endGrants } from './grants.ts'
import { SCOPES } from './scopes.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** A player revoked a consent; everything that depends on it has ended. */
    'consent.revoked': { consentId: string }
  }
}

/** A game or program that has received access to a player's data. */
export interface Connection {
  clientId: string
  name: string
  homepageUrl: string | null
  scope: string[]
  /** Its scopes of protected resources. */
  resourceScope: string[]
  since: Date
  /** Whether it registered itself, as coding assistants do. */
  registered: boolean
  /** The last use by an assistant, and in a few words what for; null when none was noted. */
  lastUse: { at: Date; what: string } | null
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

  /** Whether a player was asked for all of these scopes of the API of games, and allowed them. */
  async covers(playerId: string, clientId: string, scope: string[]): Promise<boolean> {
    const [consent] = await this.#db.query<ConsentRow>(FIND, [playerId, clientId])
    const allowed = new Set(scopesOf(consent?.scope ?? ''))
    return Boolean(consent?.asked) && scope.every((name) => allowed.has(name))
  }

  /**
   * Stores a consent beside earlier ones; or, with `asked: false`, records that a hosted game received data that needs
   * no consent.
   *
   * @param options `resource`: the scopes are those of a protected resource, which may have the same names
   * @returns the id of the consent, for `holds`
   */
  remember(
    playerId: string,
    clientId: string,
    scope: string[],
    { asked = true, resource = false } = {},
  ): Promise<string> {
    const now = this.#clock.now()
    const given = resource ? scope.map((name) => MARK + name) : scope
    return this.#db.groupCommit(async ({ query, execute }) => {
      await execute(INSERT, [newId('con', now), playerId, clientId, given.join(' '), asked, now, now])
      const [row] = await query<ConsentRow>(FIND, [playerId, clientId])
      if (!row) throw new Error('A consent is gone while it is being given.')
      const earlier = row.asked ? scopesOf(row.scope) : []
      const all = [...new Set([...earlier, ...given])].sort().join(' ')
      if (asked && (all !== row.scope || !row.asked)) {
        await execute('update oauth_consents set scope = ?, asked = ?, updated_at = ? where id = ?', [
          all,
          true,
          now,
          row.id,
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
      registration: string | null
      last_used_at: number | null
      last_use: string | null
    }>(
      `select c.client_id, a.name, a.homepage_url, a.registration, c.scope, c.created_at, c.last_used_at, c.last_use
       from oauth_consents c join oauth_apps a on a.client_id = c.client_id where c.player_id = ? order by c.created_at desc, a.name`,
      [playerId],
    )
    return rows.map((row) => ({
      clientId: row.client_id,
      name: row.name,
      homepageUrl: row.homepage_url,
      scope: scopesOf(row.scope).filter((name) => !name.startsWith(MARK)),
      resourceScope: scopesOf(row.scope).flatMap((name) => (name.startsWith(MARK) ? nameOf(name) : [])),
      since: new Date(row.created_at),
      registered: row.registration !== null,
      lastUse: row.last_used_at === null ? null : { at: new Date(row.last_used_at), what: row.last_use ?? '' },
    }))
  }

  /** Notes the last use of a connection, unless a later one was noted. Does nothing after a revocation. */
  async noteUse(playerId: string, clientId: string, { at, what }: { at: Date; what: string }): Promise<void> {
    await this.#db.execute(
      `update oauth_consents set last_used_at = ?, last_use = ?
       where player_id = ? and client_id = ? and (last_used_at is null or last_used_at < ?)`,
      [at, what.slice(0, LONGEST_USE), playerId, clientId, at],
    )
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

/** Returns the names of stored scopes, space-separated, for people. */
export const scopeNames = (stored: string): string => [...new Set(scopesOf(stored).map(nameOf))].join(' ')

const LONGEST_USE = 200
/** Stands before a scope of a protected resource. */
const MARK = '@'
const nameOf = (scope: string): string => (scope.startsWith(MARK) ? scope.slice(MARK.length) : scope)

/**
 * Parses stored scopes. Earlier versions stored those of a resource without a mark. Where there is one, `ai:generate`
 * may be of the resource too, and then it must not count for the API of games.
 */
function scopesOf(stored: string): string[] {
  const names = stored.split(' ').filter(Boolean)
  const isMarked = (name: string) => name.startsWith(MARK)
  const isOther = (name: string) => !isMarked(name) && !Object.hasOwn(SCOPES, name)
  if (!names.some(isOther)) return names
  return names.map((name) => (isOther(name) || name === 'ai:generate' ? MARK + name : name))
}

const FIND = 'select id, scope, asked from oauth_consents where player_id = ? and client_id = ?'
const INSERT = `insert into oauth_consents (id, player_id, client_id, scope, asked, created_at, updated_at)
  values (?, ?, ?, ?, ?, ?, ?) on conflict (player_id, client_id) do nothing`
