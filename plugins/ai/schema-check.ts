import type { FastifyInstance } from 'fastify'
import { InvalidRequest } from '../../core/errors.ts'
import { WorkerPool, WorkTookTooLong } from '../../core/jobs/worker-pool.ts'
import type { SchemaAnswer, SchemaTask } from './object-schema.ts'

const IDLE_MS = 5000
/** The longest time to compile a schema and match an object. The largest ordinary schema takes about 0.2 s. */
const LONGEST_MS = 2000
const HEAP_MB = 128
/** The most checks of a player that fail in a minute. Each may occupy a thread for the longest time. */
const FAILURES_A_MINUTE = 10
const MINUTE_MS = 60_000

type Parts = Pick<FastifyInstance, 'rateLimiter' | 'workerPrograms'>

/**
 * Checks callers' JSON Schemas, and generated objects against them, in a worker thread. The checks of one player run
 * one after another.
 */
export class SchemaCheck {
  readonly #rateLimiter: Parts['rateLimiter']
  readonly #mostBytes: number
  readonly #pool: WorkerPool<SchemaTask, SchemaAnswer>
  /** The last check of each player. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** @param mostBytes of a schema as JSON */
  constructor({ rateLimiter, workerPrograms }: Parts, mostBytes: number) {
    this.#rateLimiter = rateLimiter
    this.#mostBytes = mostBytes
    const program = () => workerPrograms.text('object-schema')
    this.#pool = new WorkerPool({ name: 'object-schema', program, idleMs: IDLE_MS, heapMb: HEAP_MB })
  }

  /**
   * Requires a valid schema.
   *
   * @returns the schema as JSON
   * @throws InvalidRequest when it is invalid, too large or too complex; RateLimited after too many failures
   */
  async compile(playerId: string, schema: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const text = JSON.stringify(schema)
    const answer =
      Buffer.byteLength(text) > this.#mostBytes
        ? { problem: `is larger than ${this.#mostBytes} bytes` }
        : await this.#inTurn(playerId, { schema: text }, signal)
    if ('problem' in answer) throw invalid(answer.problem)
    return text
  }

  /**
   * Whether an object matches a valid schema. An object that can't be checked in time does not match.
   *
   * @throws RateLimited after too many failures
   */
  async matches(playerId: string, schema: string, object: unknown, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#inTurn(playerId, { schema, object: JSON.stringify(object) }, signal)
    return 'matches' in answer && answer.matches
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #inTurn(playerId: string, task: SchemaTask, signal: AbortSignal): Promise<SchemaAnswer> {
    const turn = (this.#last.get(playerId) ?? Promise.resolve()).then(() => this.#run(playerId, task, signal))
    const last = turn.catch(() => {})
    this.#last.set(playerId, last)
    void last.then(() => {
      if (this.#last.get(playerId) === last) this.#last.delete(playerId)
    })
    return turn
  }

  async #run(playerId: string, task: SchemaTask, signal: AbortSignal): Promise<SchemaAnswer> {
    const failures = `ai-schema/${playerId}`
    this.#rateLimiter.mustNotBeUsedUp(failures)
    const answer = await this.#pool.run(task, { signal, longestMs: LONGEST_MS }).catch((error) => {
      if (!exceedsLimits(error)) throw error
      return { problem: 'is too complex' }
    })
    if ('problem' in answer) await this.#rateLimiter.use(failures, FAILURES_A_MINUTE, MINUTE_MS)
    return answer
  }
}

const exceedsLimits = (error: unknown): boolean =>
  error instanceof WorkTookTooLong || (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'

const invalid = (message: string) =>
  new InvalidRequest(`The schema is not valid: it ${message.slice(0, 300)}.`).with({
    details: [{ path: 'schema', message: message.slice(0, 300) }],
  })
