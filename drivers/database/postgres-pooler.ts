import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { StartupError } from '../../core/errors.ts'

/** Attempts to see that a pooler gives one connection two backends. Its choice depends on what else it serves. */
const ATTEMPTS = 4
/** Maximum wait for a backend while another connection holds one, in ms. A pooler with a single backend has none left. */
const SECOND_BACKEND_MS = 2000

type Client = Pick<pg.PoolClient, 'query'>

/**
 * Codes of a backend that does not know a statement by its name, or knows the name already: the backend is not the one
 * that prepared it. Nothing has been executed then.
 */
export const isOtherBackend = (error: unknown): boolean =>
  /^(26000|42P05)$/.test(String((error as { code?: unknown } | null)?.code))

/** Returns the process id of the backend that answers. @param name of a prepared statement; without one, unnamed */
async function backendOf(client: Client, name?: string): Promise<number> {
  const text = 'select pg_backend_pid() as pid'
  const { rows } = await client.query<{ pid: number }>(name === undefined ? { text } : { name, text })
  return rows[0]?.pid ?? 0
}

/** Returns whether something between this process and PostgreSQL answers for the backend. A pooler has its own ids. */
const isPooled = (client: Client, backend: number): boolean => (client as { processID?: number }).processID !== backend

/** Finds out about a pooler between this process and PostgreSQL, such as PgBouncer, and what it shares. */
export class PoolerCheck {
  readonly #pool: pg.Pool
  readonly #address: string
  /** The backend that each connection had first. */
  readonly #backends = new WeakMap<Client, number>()

  /** @param address host, port and database for messages, without the password */
  constructor(pool: pg.Pool, address: string) {
    this.#pool = pool
    this.#address = address
  }

  /**
   * Returns whether statements that a connection has prepared by name can be executed later: always without a pooler and
   * with one that shares by session; with one that shares by transaction if it prepares them on each backend
   * (PgBouncer from 1.21 with `max_prepared_statements`).
   *
   * @throws StartupError if the pooler gives the statements of one transaction different backends
   */
  allowsNames(): Promise<boolean> {
    return this.#borrow(async (one) => {
      if (!isPooled(one, await backendOf(one))) return true
      await this.#checkTransactions(one)
      return this.#borrow((other) => namesWork(one, other))
    })
  }

  /**
   * Returns whether one connection still has the backend that it had first.
   *
   * @throws StartupError if a pooler gives the statements of one transaction different backends
   */
  keepsBackend(): Promise<boolean> {
    return this.#borrow(async (client) => {
      const backend = await backendOf(client)
      if (!isPooled(client, backend)) return true
      await this.#checkTransactions(client)
      const first = this.#backends.get(client) ?? backend
      this.#backends.set(client, first)
      return backend === first
    })
  }

  async #checkTransactions(client: Client): Promise<void> {
    let cause: unknown
    try {
      await client.query('begin')
      const [first, second] = [await backendOf(client), await backendOf(client)]
      await client.query('commit')
      if (first === second) return
    } catch (error) {
      if (!/statement pooling/.test((error as Error).message)) throw error
      cause = error
    }
    throw new StartupError(
      `The pooler at ${this.#address} shares connections by statement, but a transaction needs one connection: set pool_mode to transaction or session.`,
      { cause },
    )
  }

  /** Lends a connection. After a failure it is closed, because it may be in a transaction. */
  async #borrow<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    let failed = true
    try {
      const value = await work(client)
      failed = false
      return value
    } finally {
      client.release(failed)
    }
  }
}

/** Returns whether `one` can execute a statement by its name on a backend that did not prepare it, if it gets one. */
async function namesWork(one: Client, other: Client): Promise<boolean> {
  // A name that no earlier start has left behind on a backend.
  const name = `gameyard_pooler_${randomBytes(8).toString('hex')}`
  const first = await backendOf(one, name)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // While `other` holds a backend, a pooler that shares by transaction may have to give `one` another.
    await other.query('begin')
    await backendOf(other)
    const second = backendOf(one, name).catch((error) => {
      if (isOtherBackend(error)) return null
      throw error
    })
    const answer = await Promise.race([second, sleep(SECOND_BACKEND_MS, 'none' as const)])
    await other.query('commit')
    if (answer === 'none') await second
    if (answer === 'none' || answer === null) return false
    if (answer !== first) return true
  }
  return true
}
