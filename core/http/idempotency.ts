import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { defineEntity, p } from '@mikro-orm/core'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { deleteInBatches, isUniqueViolation, type Statements } from '../data/database.ts'
import type { Migration } from '../data/migrations.ts'
import { Conflict, InvalidRequest } from '../errors.ts'
import { callerOf } from './auth.ts'
import { digestOfBody } from './limits/json-slices.ts'

const IdempotentAnswerSchema = defineEntity({
  name: 'IdempotentAnswer',
  tableName: 'idempotent_answers',
  properties: {
    /** SHA-256 of caller, address and key. */
    id: p.string().length(64).primary(),
    bodyDigest: p.string().length(64),
    status: p.integer().nullable(),
    /** Encrypted, since a response may contain a secret that is shown once. */
    answer: p.blob().nullable(),
    createdAt: p.datetime(3).index(),
    /** The last renewal by the process of the request; null for rows of a version without renewals. */
    renewedAt: p.datetime(3).nullable(),
  },
})
export class IdempotentAnswer extends IdempotentAnswerSchema.class {}
IdempotentAnswerSchema.setClass(IdempotentAnswer)

export const idempotencyMigrations: Migration[] = [
  {
    name: '2026_11_21_idempotent_answers',
    sqlite: [
      'create table `idempotent_answers` (`id` text not null primary key, `body_digest` text not null, `status` integer null, `answer` blob null, `created_at` datetime not null);',
      'create index `idempotent_answers_created_at_index` on `idempotent_answers` (`created_at`);',
    ],
    postgres: [
      'create table "idempotent_answers" ("id" varchar(64) not null, "body_digest" varchar(64) not null, "status" int null, "answer" bytea null, "created_at" timestamptz(3) not null, primary key ("id"));',
      'create index "idempotent_answers_created_at_index" on "idempotent_answers" ("created_at");',
    ],
  },
  {
    name: '2026_11_21_idempotent_answers_renewed',
    sqlite: ['alter table `idempotent_answers` add column `renewed_at` datetime null;'],
    postgres: ['alter table "idempotent_answers" add column "renewed_at" timestamptz(3) null;'],
  },
]

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Honours `Idempotency-Key`: the same key from the same caller replays the first response for 24 hours. On a
     * streaming route the response stored by `rememberAnswer` is replayed by `replay`; a stream that ended without
     * storing one frees the key.
     */
    idempotent?: boolean | { replay: Replay }
  }
  interface FastifyRequest {
    /** The id and creation time of the row that this request holds. */
    idempotentAnswer: { id: string; createdAt: Date; remembered?: true } | null
  }
  interface FastifyInstance {
    /**
     * Stores the response of a request in the transaction that does its work, for work that must not be repeated even
     * when the process dies between the commit and the response. Without an `Idempotency-Key` it does nothing.
     *
     * @param statements the transaction that does the work
     * @param payload returns the serialised body, when there is a key to store it for; its status is 200
     * @throws Conflict when another process has taken the key over; the transaction must not commit then
     */
    rememberAnswer(request: FastifyRequest, statements: Statements, payload: () => string): Promise<void>
    /**
     * Does the same for callers that are not an HTTP route: runs the work once for a key, and answers a repeated call
     * with the first answer for 24 hours. A failure frees the key.
     *
     * @param use names the work, such as `POST /api/games`
     * @param work receives what stores the answer in the transaction of the work, as `rememberAnswer` does
     * @returns the answer as text
     * @throws InvalidRequest for a malformed key; Conflict for another body, or while the first call is under way
     */
    answerOnce(
      call: { playerId: string; use: string; key: string; body: unknown },
      work: (remember: RememberOnce) => Promise<string>,
    ): Promise<string>
  }
}

export type RememberOnce = (statements: Statements, payload: () => string) => Promise<void>

interface Replayed {
  type: string
  payload: string | Readable
}

/** Sends a stored response again to a request with the same body. Default: as JSON. */
export type Replay = (answer: string, request: FastifyRequest) => Replayed | Promise<Replayed>

const asJson: Replay = (payload) => ({ type: 'application/json; charset=utf-8', payload })

const KEPT_MS = 24 * 3_600_000
/** Interval at which a process renews the keys of its pending requests. */
const RENEW_MS = 5000
/** A key without a renewal for this long belongs to a dead process and may be used again. */
const LOST_MS = 20_000
/** The same limit for a process of the previous version, which does not renew keys. */
const ABANDONED_MS = 120_000
/** No request takes longer than this: a generation takes 15 minutes at most. */
const LONGEST_MS = 1_200_000

/** Installs `Idempotency-Key` for the routes that enable it. */
export function installIdempotency(app: FastifyInstance): void {
  const { db, clock } = app
  const key = app.keys.derive('idempotency')
  const underWay = new UnderWay(app)
  app.decorateRequest('idempotentAnswer', null)
  const store = async ({ id, createdAt }: Claim, statements: Pick<Statements, 'execute'>, payload: string) => {
    const sql = 'update idempotent_answers set status = 200, answer = ? where id = ? and created_at = ?'
    return (await statements.execute(sql, [encrypt(key, payload), id, createdAt])) === 1
  }
  const remember = async (claimed: Claim, statements: Statements, payload: () => string) => {
    // The error rolls back the work of a process that was paused for so long that another one took its key over.
    if (!(await store(claimed, statements, payload()))) throw underWayElsewhere()
    claimed.remembered = true
  }
  app.decorate('rememberAnswer', async ({ idempotentAnswer: claimed }, statements, payload) => {
    if (claimed) await remember(claimed, statements, payload)
  })

  const claim = async (
    id: string,
    bodyDigest: string,
    now: Date,
  ): Promise<{ status: number; answer: Buffer } | null> => {
    const em = db.em()
    await em.nativeDelete(IdempotentAnswer, { id, createdAt: { $lt: new Date(now.getTime() - KEPT_MS) } })
    await em.nativeDelete(IdempotentAnswer, {
      id,
      status: null,
      $or: [
        { renewedAt: { $lt: new Date(now.getTime() - LOST_MS) } },
        { renewedAt: null, createdAt: { $lt: new Date(now.getTime() - ABANDONED_MS) } },
      ],
    })
    try {
      await em.insert(IdempotentAnswer, {
        id,
        bodyDigest,
        status: null,
        answer: null,
        createdAt: now,
        renewedAt: now,
      })
      return null
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
    }
    const first = await em.findOne(IdempotentAnswer, { id })
    if (first && first.bodyDigest !== bodyDigest) {
      throw new Conflict('This Idempotency-Key was used with another request body.')
    }
    if (!first?.answer || first.status == null) {
      throw underWayElsewhere()
    }
    return { status: first.status, answer: Buffer.from(first.answer) }
  }

  app.decorate('answerOnce', async ({ playerId, use, key: given, body }, work) => {
    if (!KEY.test(given)) throw malformed()
    const claimed: Claim = { id: digestOf([playerId, use, given]), createdAt: clock.now() }
    const first = await claim(claimed.id, digestOf(body), claimed.createdAt)
    if (first) return decrypt(key, first.answer)
    underWay.add(claimed)
    try {
      const answer = await work((statements, payload) => remember(claimed, statements, payload))
      if (!claimed.remembered) await store(claimed, db, answer)
      return answer
    } catch (error) {
      const { id, createdAt } = claimed
      await db.em().nativeDelete(IdempotentAnswer, { id, createdAt, status: null })
      throw error
    } finally {
      underWay.remove(claimed)
    }
  })

  app.addHook('onRoute', (route) => {
    const wanted = route.config?.idempotent
    if (!wanted) return
    const replay = wanted === true ? asJson : wanted.replay
    route.preHandler = [
      ...[route.preHandler ?? []].flat(),
      async (request, reply) => {
        const id = idOf(request)
        if (!id) return
        const createdAt = clock.now()
        const first = await claim(id, digestOfBody(request.body) ?? digestOf(request.body ?? null), createdAt)
        if (first) {
          const { type, payload } = await replay(decrypt(key, first.answer), request)
          reply.code(first.status).type(type).header('idempotent-replay', 'true')
          return reply.header('cache-control', 'no-store').send(payload)
        }
        request.idempotentAnswer = { id, createdAt }
        underWay.add(request.idempotentAnswer)
      },
    ]
    route.onSend = [
      ...[route.onSend ?? []].flat(),
      async (request, reply, payload) => {
        // A slow request whose key was taken over must not change the row any more.
        const claimed = request.idempotentAnswer
        if (!claimed) return payload
        const { remembered, ...mine } = claimed
        const forget = () => db.em().nativeDelete(IdempotentAnswer, { ...mine, status: null })
        // Only successful responses are stored: after a refusal the same key may be used again.
        if (reply.statusCode < 300 && payload instanceof Readable) {
          payload.once('close', () => {
            underWay.remove(claimed)
            forget().catch((error) =>
              request.log.warn({ err: error }, 'an Idempotency-Key could not be released; it stays locked for a while'),
            )
          })
          return payload
        }
        underWay.remove(claimed)
        if (reply.statusCode >= 300 || typeof payload !== 'string') {
          await forget()
        } else if (!remembered) {
          const answer = encrypt(key, payload)
          await db.em().nativeUpdate(IdempotentAnswer, mine, { status: reply.statusCode, answer })
        }
        return payload
      },
    ]
  })

  app.jobs.every('idempotency/forget', 3600, async ({ signal }) => {
    const parameters = [new Date(clock.now().getTime() - KEPT_MS)]
    const old = { table: 'idempotent_answers', key: ['id'], where: 'created_at < ?', parameters }
    await deleteInBatches(db, old, signal)
  })
}

type Claim = NonNullable<FastifyRequest['idempotentAnswer']>

/**
 * The keys that this process is working on. The process renews them regularly: when it dies its keys are soon free, and
 * while it lives no other process takes them, however long the work takes.
 */
class UnderWay {
  readonly #app: Pick<FastifyInstance, 'db' | 'clock' | 'log'>
  readonly #claims = new Set<Claim>()
  #timer: NodeJS.Timeout | undefined

  constructor(app: FastifyInstance) {
    this.#app = app
    app.addHook('onClose', async () => clearTimeout(this.#timer))
  }

  add(claim: Claim): void {
    this.#claims.add(claim)
    this.#timer ??= setTimeout(() => this.#renew(), RENEW_MS).unref()
  }

  remove(claim: Claim): void {
    this.#claims.delete(claim)
  }

  async #renew(): Promise<void> {
    const { db, clock, log } = this.#app
    const now = clock.now()
    // Bounds the time for which a key is held if the end of its response is never reported.
    for (const claim of this.#claims) {
      if (now.getTime() - claim.createdAt.getTime() > LONGEST_MS) this.#claims.delete(claim)
    }
    try {
      for (const { id, createdAt } of this.#claims) {
        await db.execute(
          'update idempotent_answers set renewed_at = ? where id = ? and created_at = ? and status is null',
          [now, id, createdAt],
        )
      }
    } catch (error) {
      log.warn({ err: error }, 'the Idempotency-Keys of open requests could not be renewed')
    }
    this.#timer = this.#claims.size > 0 ? setTimeout(() => this.#renew(), RENEW_MS).unref() : undefined
  }
}

const KEY = /^[\x21-\x7e]{1,200}$/
const underWayElsewhere = () =>
  new Conflict('The first request with this Idempotency-Key is still under way.').with({
    headers: { 'retry-after': '1' },
  })
const malformed = () => new InvalidRequest('Idempotency-Key must be 1 to 200 printable characters without spaces.')

function idOf(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key']
  if (header === undefined) return null
  if (typeof header !== 'string' || !KEY.test(header)) throw malformed()
  const { playerId } = callerOf(request)
  return digestOf([playerId, request.method, request.url, header])
}

const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

function encrypt(key: Buffer, text: string): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

function decrypt(key: Buffer, bytes: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}
