import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../data/database.ts'
import type { Events } from '../events.ts'
import { noTracing, type Tracing } from '../observe/tracing.ts'
import { PLATFORM } from './job-entities.ts'
import { type Attempt, isLast, type JobOptions, type JobRule, JobStore, type NewJob, type Pause } from './job-store.ts'

export { BackgroundJob, jobMigrations, PLATFORM } from './job-entities.ts'
export type { JobOptions, NewJob } from './job-store.ts'

declare module '../events.ts' {
  interface DomainEvents {
    'jobs.enqueued': { name: string }
  }
}

/** The arguments of a handler. */
export interface JobContext<Payload = unknown> {
  payload: Payload
  /** 1 on the first attempt. */
  attempt: number
  /**
   * Aborts when the process stops or the lease is lost. The handler must end soon, because another worker repeats its
   * work. It throws unless its work is complete; a periodic job may also return.
   */
  signal: AbortSignal
}

export type JobHandler<Payload> = (context: JobContext<Payload>) => Promise<void>

interface Handler extends JobRule {
  run: JobHandler<unknown>
}

interface Running {
  attempt: Attempt
  abort: AbortController
  heartbeat: NodeJS.Timeout
  /** The pending renewal, if any. */
  renewing: Promise<void>
  /** The record of its result or of its return to the queue, once that has begun. */
  recorded: Promise<void> | null
  ended: Promise<void>
}

/** Retention of permanently failed jobs, for a manual retry. */
const FAILED_KEPT_MS = 30 * 86_400_000

/** Additional time for handlers to react to their signal, after the deadline of `stop`. */
const GRACE_MS = 250

/**
 * Durable background jobs in the database. They survive a crash of any node, and each job runs on one node at a time.
 * Owners take turns: however many jobs of one are due, a job of another starts when at most one of those has ended.
 *
 * A job runs at least once: when a worker dies after the work but before recording it, another worker runs the job
 * again, so handlers must be idempotent. Completed jobs are deleted. Permanently failed jobs remain for thirty days, as
 * `failed`, with their last error.
 */
export class Jobs {
  readonly #rows: JobStore
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #events: Events
  readonly #tracing: Tracing
  readonly #concurrency: number
  readonly #pollMs: number
  readonly #handlers = new Map<string, Handler>()
  readonly #running = new Set<Running>()
  /** Runs work outside of the request that has enqueued a job: without its caller, its author and its trace. */
  readonly #outsideOfRequests = AsyncLocalStorage.snapshot()
  /** Names that pending transactions have enqueued. */
  readonly #uncommitted = new WeakMap<object, Set<string>>()
  #state: 'new' | 'started' | 'stopped' = 'new'
  #timer: NodeJS.Timeout | undefined
  #claiming: Promise<void> | null = null
  #claimAgain = false
  readonly #turns = { afterPlatform: false, last: PLATFORM }
  #pollFailed = false

  /**
   * @param parts `concurrency`: maximum of concurrent handlers of this node; `pollMs`: maximum delay of a job without a
   *   wake-up
   */
  constructor(parts: {
    db: Database
    clock: Clock
    log: FastifyBaseLogger
    events: Events
    tracing?: Tracing
    concurrency?: number
    pollMs?: number
  }) {
    this.#rows = new JobStore(parts.db, parts.clock)
    this.#clock = parts.clock
    this.#log = parts.log
    this.#events = parts.events
    this.#tracing = parts.tracing ?? noTracing
    this.#concurrency = parts.concurrency ?? 4
    this.#pollMs = parts.pollMs ?? 1000
    this.#events.on('jobs.enqueued', ({ name }) => {
      if (this.#handlers.has(name)) this.#wake()
    })
    parts.db
      .em()
      .getEventManager()
      .registerSubscriber({
        afterTransactionCommit: async ({ em }) => this.#announce(em),
      })
  }

  /** Registers the handler of a job name. Other nodes run the jobs of names without a handler on this node. */
  handle<Payload>(name: string, run: JobHandler<Payload>, options: JobOptions = {}): void {
    this.#register(name, run as JobHandler<unknown>, options, null)
  }

  /**
   * Registers a periodic job, which runs on one node every so many seconds, for the first time soon after the first
   * start. After an error it waits for its next run. The schedule is stored in the database, so a restart neither skips
   * nor repeats a run.
   */
  every(name: string, seconds: number, run: JobHandler<null>, options: Pick<JobOptions, 'leaseSeconds'> = {}): void {
    this.#register(name, run as JobHandler<unknown>, options, seconds * 1000)
  }

  /**
   * Adds a job. Inside the caller's transaction the job exists once that commits, and not at all if it rolls back.
   *
   * When a waiting job has the same key, that job remains, with the new payload and the earlier of the two times. When
   * a running job has the key, that job runs once more afterwards, so that a change made meanwhile is not missed. When
   * a failed job has the key, that job is retried. In each case attempts are counted from the latest request.
   */
  async enqueue(em: SqlEntityManager, job: NewJob): Promise<void> {
    const { name } = job
    if (this.#handlers.get(name)?.everyMs) throw new Error(`${name} is a periodic job; it can't be enqueued.`)
    await this.#rows.enqueue(em, job)
    const uncommitted = this.#uncommitted.get(em) ?? new Set()
    this.#uncommitted.set(em, uncommitted.add(name))
    if (!em.isInTransaction()) this.#announce(em)
  }

  /**
   * Starts to take jobs. Handlers and periodic jobs must be registered before. The first query for waiting jobs happens
   * at the first poll, so that it does not slow down the start.
   */
  async start(): Promise<void> {
    this.#state = 'started'
    const periodic = [...this.#handlers].map(([name, { everyMs }]) => ({ name, everyMs: everyMs ?? 0 }))
    const pause = await this.#rows.plan(periodic.filter(({ everyMs }) => everyMs > 0))
    if (pause) this.#log.warn(pause, longPause(pause, this.#clock))
    this.#pollLater()
  }

  /** Removes jobs that failed permanently thirty days ago: the periodic job `jobs/forget`. */
  forgetFailed(signal: AbortSignal): Promise<void> {
    return this.#rows.forgetFailed(new Date(this.#clock.now().getTime() - FAILED_KEPT_MS), signal)
  }

  /**
   * Takes no more jobs, gives the running ones `deadlineMs` to end, and then aborts their signals. Jobs that still run
   * are released for another node or the next start, and this attempt is not counted.
   */
  async stop(deadlineMs = 1000): Promise<void> {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
    await this.#claiming
    const ended = Promise.allSettled([...this.#running].map((running) => running.ended))
    await Promise.race([ended, sleep(deadlineMs, undefined, { ref: false })])
    if (this.#running.size === 0) return
    for (const { abort } of this.#running) abort.abort(new Error('the process stops'))
    await Promise.race([ended, sleep(GRACE_MS, undefined, { ref: false })])
    for (const running of this.#running) await this.#record(running, () => this.#giveBack(running))
  }

  #register(name: string, run: JobHandler<unknown>, options: JobOptions, everyMs: number | null): void {
    if (this.#handlers.has(name)) throw new Error(`Two handlers take the jobs named ${name}.`)
    if (this.#state !== 'new') throw new Error(`The handler of ${name} came after the start.`)
    this.#handlers.set(name, {
      run,
      everyMs,
      leaseSeconds: 30,
      maxAttempts: 5,
      backoffSeconds: 5,
      concurrency: Infinity,
      ...options,
    })
  }

  /** Notifies all nodes of the jobs of a transaction after its commit. */
  #announce(em: object): void {
    const names = this.#uncommitted.get(em)
    if (!names) return
    this.#uncommitted.delete(em)
    // The emit is not awaited, because the caller need not wait for the bus, and other nodes poll without it.
    for (const name of names) void this.#events.emit('jobs.enqueued', { name })
  }

  /** Polls at once instead of at the next interval. */
  #wake(): void {
    if (this.#state !== 'started' || this.#handlers.size === 0) return
    this.#claimAgain = true
    this.#claiming ??= this.#outsideOfRequests(() => this.#claimAll()).finally(() => {
      this.#claiming = null
      if (this.#claimAgain) this.#wake()
      else if (this.#state === 'started') this.#pollLater()
    })
  }

  #pollLater(): void {
    this.#timer = setTimeout(() => this.#wake(), this.#pollMs).unref()
  }

  async #claimAll(): Promise<void> {
    clearTimeout(this.#timer)
    try {
      while (this.#claimAgain && this.#state === 'started') {
        this.#claimAgain = false
        while (this.#running.size < this.#concurrency && this.#state === 'started') {
          const found = await this.#claim()
          if (!found) break
        }
      }
      this.#pollFailed = false
    } catch (error) {
      if (!this.#pollFailed)
        this.#log.error({ err: error }, 'background jobs are paused: the next one could not be read from the database')
      this.#pollFailed = true
    }
  }

  /** Takes the job whose turn it is, if one is due, and starts it. */
  async #claim(): Promise<boolean> {
    const free = this.#withCapacity()
    if (free.size === 0 || !(await this.#rows.areDue([...free.keys()]))) return false
    const running = [...this.#running].map(({ attempt }) => attempt.row.owner)
    const taken = await this.#rows.take(free, { ...this.#turns, running })
    if (!taken) return false
    const { row, attempt, fromLostWorker } = taken
    this.#turns.afterPlatform = row.owner === PLATFORM
    if (row.owner !== PLATFORM) this.#turns.last = row.owner
    const about = { job: row.name, id: row.id }
    if (fromLostWorker) this.#log.warn(about, 'took over a job from a lost worker')
    if (attempt) this.#run(attempt)
    else this.#log.error(about, 'a job failed permanently: its worker was lost each time')
    return true
  }

  /** The handlers of the names of which this node may run one more job. */
  #withCapacity(): ReadonlyMap<string, Handler> {
    const names = [...this.#running].map(({ attempt }) => attempt.row.name)
    const runningOf = (name: string) => names.filter((other) => other === name).length
    return new Map([...this.#handlers].filter(([name, { concurrency }]) => runningOf(name) < concurrency))
  }

  #run(attempt: Attempt): void {
    const { row, rule } = attempt
    const { run } = this.#handlers.get(row.name) as Handler
    const abort = new AbortController()
    const heartbeat = setInterval(
      () => {
        running.renewing = this.#renew(running)
      },
      (rule.leaseSeconds * 1000) / 3,
    )
    const idle = Promise.resolve()
    const running: Running = { attempt, abort, heartbeat, renewing: idle, recorded: null, ended: idle }
    this.#running.add(running)
    const context: JobContext = { payload: row.payload, attempt: row.attempts, signal: abort.signal }
    const about = { 'job.name': row.name, 'job.id': row.id, 'job.attempt': row.attempts }
    running.ended = this.#tracing
      .span(`job ${row.name}`, about, () => Promise.try(run, context))
      .then(
        () =>
          this.#record(running, () => {
            // A sweep returns at its signal before all is done. Other handlers throw, unless their work is complete.
            if (rule.everyMs && this.#isCutShort(running)) return this.#giveBack(running)
            return this.#settle(attempt, () => this.#rows.finish(attempt))
          }),
        (error) =>
          this.#record(running, () => {
            if (this.#isCutShort(running)) return this.#giveBack(running)
            this.#logFailure(attempt, error)
            return this.#settle(attempt, () => this.#rows.fail(attempt, messageOf(error)))
          }),
      )
      .finally(async () => {
        clearInterval(heartbeat)
        await running.renewing // the caller of `stop` may close the database next
        this.#running.delete(running)
        this.#wake()
      })
  }

  /** Writes how an attempt ended, once. Waits for a write that has begun. */
  #record(running: Running, write: () => Promise<void>): Promise<void> {
    running.recorded ??= write()
    return running.recorded
  }

  /** Whether `stop` has told a handler to end early. */
  #isCutShort({ abort }: Running): boolean {
    return this.#state === 'stopped' && abort.signal.aborted
  }

  async #renew(running: Running): Promise<void> {
    const { row } = running.attempt
    try {
      const renewed = await this.#rows.renew(running.attempt)
      if (!renewed && this.#running.has(running)) running.abort.abort(new Error('the lease was lost'))
    } catch (error) {
      this.#log.warn({ err: error, job: row.name, id: row.id }, 'a lease could not be renewed')
    }
  }

  #logFailure(attempt: Attempt, error: unknown): void {
    const { row, rule } = attempt
    const about = { err: error, job: row.name, id: row.id, attempt: row.attempts }
    if (rule.everyMs) this.#log.error(about, 'a periodic job failed')
    else if (isLast(attempt)) this.#log.error(about, 'the last attempt of a job failed')
    else this.#log.warn(about, 'a job failed and will be tried again')
  }

  /** Records the outcome of an attempt. Retries after an outage, since an unrecorded job runs again. */
  async #settle({ row }: Attempt, write: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await write()
        return
      } catch (error) {
        this.#log.error({ err: error, job: row.name, id: row.id }, 'the result of a job could not be stored')
        if (tries === 10 || this.#state === 'stopped') return
      }
      await sleep(500)
    }
  }

  async #giveBack(running: Running): Promise<void> {
    clearInterval(running.heartbeat)
    await running.renewing
    const { name, id } = running.attempt.row
    try {
      await this.#rows.giveBack(running.attempt)
      this.#log.info({ job: name, id }, 'a job was returned to the queue')
      await this.#events.emit('jobs.enqueued', { name })
    } catch (error) {
      this.#log.error(
        { err: error, job: name, id },
        'a job could not be returned to the queue; it is free when its lease ends',
      )
    }
    this.#running.delete(running)
  }
}

const longPause = ({ since, until }: Pause, clock: Clock) =>
  `by the clock of this machine it is ${utc(clock.now())}, and the server last ran about ${utc(since)}. If the clock is ` +
  `wrong, stop the server and set it by ${utc(until)}: from then on, what is older than its retention is deleted`

const utc = (time: Date) => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
