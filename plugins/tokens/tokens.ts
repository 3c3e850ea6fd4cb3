import { hash } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { type Database, deleteInBatches, type Statements } from '../../core/data/database.ts'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { invalidField, NotFound } from '../../core/errors.ts'
import type { Events } from '../../core/events.ts'
import type { Principal } from '../../core/http/auth.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { newId } from '../../core/ids.ts'
import { visibleText } from '../../core/visible-text.ts'
import { ApiToken } from './entities.ts'
import { TooManyTokens } from './errors.ts'
import { type CreatedToken, DEFAULT_EXPIRY, type Expiry, type Token } from './schemas.ts'
import { ALL_SCOPES, type Scope } from './scopes.ts'
import { isWellFormed, newToken, type TokenKind } from './token-format.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    'token.revoked': { tokenId: string }
  }
}

const DAY_MS = 86_400_000
/** The time for which an expired token stays in its owner's list, where it explains why a program can't sign in. */
const EXPIRED_KEPT_DAYS = 90
const LAST_USED_PRECISION_MS = 60_000
const PREFIX_LENGTH = 12

export interface NewToken {
  playerId: string
  kind?: TokenKind
  label: string
  /** The scopes of an API token. A CLI token has full access. */
  scopes: Scope[]
  /** Default 90 days. */
  expiresInDays?: Expiry
}

interface Known {
  principal: Principal
  expiresAt: number | null
  lastUsedAt: number
}

interface LookUpRow {
  id: string
  player_id: string
  kind: TokenKind
  label: string
  scopes: string
  expires_at: number | null
  last_used_at: number | null
}

interface TokensContext {
  db: Database
  clock: Clock
  events: Events
  log: FastifyBaseLogger
  /** The most API tokens of one player, with those that expired in the last 90 days, and the most CLI tokens. */
  tokensPerPlayer: number
  /** Writes mail to a player in a transaction. @param subject one line */
  writeTo(em: SqlEntityManager, playerId: string, subject: string, text: string): Promise<void>
  portalUrl: string
  /** Whether a player exists and is not disabled; synchronous if this is cached. */
  isActive(playerId: string): Promise<boolean> | boolean
}

/**
 * API and CLI tokens. They belong to a player, are stored as SHA-256, and fail on the next request after revocation.
 */
export class Tokens {
  readonly #context: TokensContext
  readonly #cache: TtlCache<Known>

  constructor(context: TokensContext) {
    this.#context = context
    this.#cache = new TtlCache(context.clock)
    context.events.on('token.revoked', ({ tokenId }) =>
      this.#cache.dropWhere(({ principal }) => principal.credentialId === tokenId),
    )
    // The change may have ended all of them.
    context.events.on('player.changed', ({ playerId }) =>
      this.#cache.dropWhere(({ principal }) => principal.playerId === playerId),
    )
  }

  /**
   * Creates a token, and tells its player of an API token, which a stolen session could have made.
   *
   * @returns its record with the token itself, which is not stored
   * @throws InvalidRequest without a label or scope; TooManyTokens
   */
  async create({
    playerId,
    kind = 'api',
    label,
    scopes,
    expiresInDays = DEFAULT_EXPIRY,
  }: NewToken): Promise<CreatedToken> {
    const name = visibleText(label)
    if (name === '' || name.length > 80) throw invalidField('label', 'Name the token, in 80 characters at most.')
    if (kind === 'api' && scopes.length === 0) throw invalidField('scopes', 'Choose at least one scope.')
    const createdAt = this.#context.clock.now()
    const token = newToken(kind)
    const row = {
      id: newId('tok', createdAt),
      tokenHash: hashSecret(token),
      playerId,
      kind,
      label: name,
      prefix: token.slice(0, PREFIX_LENGTH),
      scopes: kind === 'cli' ? '' : ALL_SCOPES.filter((scope) => scopes.includes(scope)).join(' '),
      createdAt,
      lastUsedAt: null,
      expiresAt: expiresInDays === null ? null : new Date(createdAt.getTime() + expiresInDays * DAY_MS),
    }
    await this.#context.db.transaction(async (em) => {
      const { db, tokensPerPlayer: most } = this.#context
      // Parallel requests count each other's tokens. SQLite has one writer anyway.
      if (db.dialect === 'postgres') {
        await em.execute('select id from players where id = ? for no key update', [playerId])
      }
      if (kind === 'api' && (await em.count(ApiToken, { playerId, kind })) >= most) throw new TooManyTokens(most, 'API')
      await em.insert(ApiToken, row)
      if (kind === 'api') await this.#tell(em, row)
    })
    return { ...toToken(row), token }
  }

  #tell(em: SqlEntityManager, { playerId, label, scopes, expiresAt }: ApiToken): Promise<void> {
    const { writeTo, portalUrl } = this.#context
    const until = expiresAt ? `until ${expiresAt.toISOString().slice(0, 10)}` : 'until it is revoked'
    const text = `The API token “${label}” acts for your account from now on, ${until}. Its scopes: ${scopes.replaceAll(' ', ', ')}.

If it was not you, revoke it and choose a new password:

${portalUrl}/settings/tokens
`
    return writeTo(em, playerId, 'A new API token for your account', text)
  }

  /**
   * Creates the token of the CLI's sign-in, in the caller's transaction: full access until it is revoked.
   *
   * @returns the token, which is not stored
   * @throws TooManyTokens
   */
  async createForCli(
    statements: Statements,
    { playerId, label }: { playerId: string; label: string },
  ): Promise<string> {
    const { db, clock, tokensPerPlayer: most } = this.#context
    if (db.dialect === 'postgres') {
      await statements.query('select id from players where id = ? for no key update', [playerId])
    }
    const count = "select count(*) as tokens from api_tokens where player_id = ? and kind = 'cli'"
    const [existing] = await statements.query<{ tokens: number | string }>(count, [playerId])
    if (Number(existing?.tokens) >= most) throw new TooManyTokens(most, 'CLI')
    const createdAt = clock.now()
    const token = newToken('cli')
    const prefix = token.slice(0, PREFIX_LENGTH)
    await statements.execute(
      `insert into api_tokens (id, token_hash, player_id, kind, label, prefix, scopes, created_at, last_used_at, expires_at)
       values (?, ?, ?, 'cli', ?, ?, '', ?, null, null)`,
      [newId('tok', createdAt), hashSecret(token), playerId, label, prefix, createdAt],
    )
    return token
  }

  /** Lists a player's tokens, the newest first. */
  async list(playerId: string, { limit, cursor }: PageQuery): Promise<{ tokens: Token[]; nextCursor: string | null }> {
    const before = mustBeCursor('tok', cursor)
    const where = { playerId, ...(before ? { id: { $lt: before } } : {}) }
    const rows = await this.#context.db.em().find(ApiToken, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    return { tokens: page.map(toToken), nextCursor }
  }

  /** Returns all of a player's tokens, for their data export. */
  async export(playerId: string): Promise<Token[]> {
    return (await this.#context.db.em().find(ApiToken, { playerId }, { orderBy: { id: 'asc' } })).map(toToken)
  }

  /** Returns one of a player's tokens. @throws NotFound, also for another player's token */
  async mustOwn(playerId: string, id: string): Promise<Token> {
    const row = await this.#context.db.em().findOne(ApiToken, { id, playerId })
    if (!row) throw new NotFound('token')
    return toToken(row)
  }

  /** Revokes a player's token at once on every node. @throws NotFound, also when it was revoked before */
  async revoke(playerId: string, id: string): Promise<void> {
    const rows = await this.#context.db.em().nativeDelete(ApiToken, { id, playerId })
    if (rows === 0) throw new NotFound('token')
    await this.#context.events.emit('token.revoked', { tokenId: id })
  }

  /** Deletes tokens that expired long ago. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#context
    const parameters = [new Date(clock.now().getTime() - EXPIRED_KEPT_DAYS * DAY_MS)]
    await deleteInBatches(db, { table: 'api_tokens', key: ['id'], where: 'expires_at < ?', parameters }, signal)
  }

  /**
   * Returns the principal of a token; null when it is mistyped, revoked, expired, or its player disabled. The result is
   * synchronous when token and player were read a moment ago.
   */
  verify(token: string): Promise<Principal | null> | Principal | null {
    const tokenHash = hashSecret(token)
    const known = this.#cache.peek(tokenHash)
    return known ? this.#bearerOf(known) : this.#verifyAnew(token, tokenHash)
  }

  async #verifyAnew(token: string, tokenHash: string): Promise<Principal | null> {
    if (!isWellFormed(token)) return null
    const known = await this.#cache.get(tokenHash, () => this.#lookUp(tokenHash))
    return known && this.#bearerOf(known)
  }

  #bearerOf(known: Known): Promise<Principal | null> | Principal | null {
    const now = this.#context.clock.now().getTime()
    if (known.expiresAt !== null && known.expiresAt <= now) return null
    const active = this.#context.isActive(known.principal.playerId)
    if (typeof active === 'boolean') return active ? this.#noteUse(known, now) : null
    return active.then((is) => (is ? this.#noteUse(known, now) : null))
  }

  async #lookUp(tokenHash: string): Promise<Known | null> {
    const [row] = await this.#context.db.query<LookUpRow>(
      'select id, player_id, kind, label, scopes, expires_at, last_used_at from api_tokens where token_hash = ?',
      [tokenHash],
    )
    if (!row) return null
    return {
      principal: {
        kind: row.kind === 'cli' ? 'cli-token' : 'api-token',
        playerId: row.player_id,
        scopes: row.kind === 'cli' ? 'all' : new Set(row.scopes.split(' ')),
        credentialId: row.id,
        credentialName: row.label,
      },
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at ?? 0,
    }
  }

  /** Records the use to the minute. No request waits for the write, and a lost one is harmless. */
  #noteUse(known: Known, now: number): Principal {
    const { principal } = known
    if (now - known.lastUsedAt < LAST_USED_PRECISION_MS) return principal
    known.lastUsedAt = now
    this.#context.db
      .execute('update api_tokens set last_used_at = ? where id = ?', [new Date(now), principal.credentialId])
      .catch((error) => this.#context.log.warn({ err: error }, 'storing the last use of a token failed'))
    return principal
  }
}

const hashSecret = (token: string): string => hash('sha256', token, 'base64url')

type Row = Omit<Token, 'scopes' | 'kind' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> & {
  kind: string
  scopes: string
  createdAt: Date
  lastUsedAt?: Date | null | undefined
  expiresAt?: Date | null | undefined
}

const toToken = (row: Row): Token => ({
  id: row.id,
  label: row.label,
  kind: row.kind as TokenKind,
  prefix: row.prefix,
  scopes: row.kind === 'cli' ? [...ALL_SCOPES] : row.scopes.split(' '),
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  expiresAt: row.expiresAt?.toISOString() ?? null,
})
