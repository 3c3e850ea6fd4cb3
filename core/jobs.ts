import { setTimeout as sleep } from 'node:timers/promises'
import { LockMode, raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from './clock.ts'
import type { Database } from './database.ts'
import type { Events } from './events.ts'
import { newId, randomText } from './ids.ts'
import { BackgroundJob, ENQUEUE, type JobState, PLAN } from './job-entities.ts'
import { noTracing, type Tracing } from './tracing.ts'

export { BackgroundJob, jobMigrations } from './job-entities.ts'

declare module './events.ts' {
  interface DomainEvents {
    'jobs.enqueued': { name: string }
  }
}

/** What a handler is given. */
export interface JobContext<Payload = unknown> {
  payload: Payload
  /** 1 on the first attempt. */
  attempt: number
  /** Aborted when the process stops or the lease was lost: end soon; what is still done is done twice. */
  signal: AbortSignal
}

export type JobHandler<Payload> = (context: JobContext<Payload>) => Promise<void>

export interface JobOptions {
  /** How long a worker that died keeps others from its job. Renewed while the handler runs, however long. */
  leaseSeconds?: number
  /** Attempts before it is `failed`, those that ended with the process included. */
  maxAttempts?: number
  /** The wait after the first failed attempt; it doubles with each further one, up to an hour. */
  backoffSeconds?: number
}

export interface NewJob {
  /** Which handler it is for. */
  name: string
  /** What it is about, 200 characters at most: there is one job a name and key; see `enqueue`. */
  key?: string
  /** Anything that survives JSON. */
  payload?: unknown
  /** Not before this time; at once by default. */
  runAt?: Date
}

interface Handler extends Required<JobOptions> {
  run: JobHandler<unknown>
  /** For periodic chores: from one start to the next. */
  everyMs: number | null
}

interface Running {
  row: BackgroundJob
  handler: Handler
  leaseId: string
  abort: AbortController
  heartbeat: NodeJS.Timeout
  /** The renewal on its way, if any. */
  renewing: Promise<void>
  ended: Promise<void>
}

const LONGEST_BACKOFF_MS = 3_600_000
/** The key of a periodic chore's one row. */
const CHORE = 'every'
/** What becomes of a job after its last attempt: it failed, unless it was asked for again while that ran. */
const GIVEN_UP = {
  state: raw<JobState>("case when rerun_at is null then 'failed' else 'queued' end"),
  attempts: raw<number>('case when rerun_at is null then attempts else 0 end'),
  dueAt: raw<Date>('rerun_at'),
  rerunAt: null,
}
/** After the deadline of `stop`, the time for handlers to heed their signal. */
const GRACE_MS = 250

/**
 * Durable background work, in the database: it outlives a crash of any node, and each job runs on one node at a time.
 *
 * A job runs at least once: a worker that dies after its work but before saying so leaves the job to another, so
 * handlers must be repeatable. Done jobs are deleted; those that failed for good stay, `failed`, with their last error.
 */
export class Jobs {
  readonly #db: Database
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #events: Events
  readonly #tracing: Tracing
  readonly #concurrency: number
  readonly #pollMs: number
  readonly #handlers = new Map<string, Handler>()
  readonly #running = new Set<Running>()
  /** Names enqueued by transactions that have not ended yet. */
  readonly #uncommitted = new WeakMap<object, Set<string>>()
  #state: 'new' | 'started' | 'stopped' = 'new'
  #timer: NodeJS.Timeout | undefined
  #claiming: Promise<void> | null = null
  #claimAgain = false
  #pollFailed = false

  /** @param parts `concurrency`: handlers of this node at once; `pollMs`: how late a job may begin without a wake-up */
  constructor(parts: {
    db: Database
    clock: Clock
    log: FastifyBaseLogger
    events: Events
    tracing?: Tracing
    concurrency?: number
    pollMs?: number
  }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#log = parts.log
    this.#events = parts.events
    this.#tracing = parts.tracing ?? noTracing
    this.#concurrency = parts.concurrency ?? 4
    this.#pollMs = parts.pollMs ?? 1000
    this.#events.on('jobs.enqueued', ({ name }) => {
      if (this.#handlers.has(name)) this.#wake()
    })
    this.#db
      .em()
      .getEventManager()
      .registerSubscriber({
        afterTransactionCommit: async ({ em }) => this.#announce(em),
      })
  }

  /** Says what does the jobs of a name. A name without a handler on this node is left to others. */
  handle<Payload>(name: string, run: JobHandler<Payload>, options: JobOptions = {}): void {
    this.#register(name, run as JobHandler<unknown>, options, null)
  }

  /**
   * A chore that some node does every so many seconds, one node at a time; for the first time soon after the first
   * start. After an error it waits for its next turn. Its time is kept in the database: a restart neither skips nor
   * repeats a turn.
   */
  every(name: string, seconds: number, run: JobHandler<null>, options: Pick<JobOptions, 'leaseSeconds'> = {}): void {
    this.#register(name, run as JobHandler<unknown>, options, seconds * 1000)
  }

  /**
   * Adds a job. Inside the caller's transaction it exists once that commits, and not at all if it rolls back.
   *
   * With a key that a waiting job has, that job stays, with the new payload and the earlier of the two times. With the
   * key of a running one, that runs once more afterwards, so that what changed meanwhile is never overlooked. With the
   * key of a failed one, that is tried anew. Whichever it is, attempts are counted from the last time it was asked for.
   */
  async enqueue(em: SqlEntityManager, job: NewJob): Promise<void> {
    const now = this.#clock.now()
    const { name, key = null, payload = null, runAt = now } = job
    if (this.#handlers.get(name)?.everyMs) throw new Error(`${name} is a periodic chore; it can't be enqueued.`)
    await em.execute(ENQUEUE, [newId('bgj', now), name, key, JSON.stringify(payload), runAt, now], 'run')
    const uncommitted = this.#uncommitted.get(em) ?? new Set()
    this.#uncommitted.set(em, uncommitted.add(name))
    if (!em.isInTransaction()) this.#announce(em)
  }

  /**
   * Begins to work. Handlers and chores are registered before. What waits from before is looked for only at the first
   * poll: the start has the machine to itself.
   */
  async start(): Promise<void> {
    this.#state = 'started'
    await this.#planChores()
    this.#pollLater()
  }

  /**
   * Takes no more jobs, gives the running ones `deadlineMs` to end, then aborts their signals and gives what still
   * runs back, for another node or the next start to begin at once, as if this attempt had not been.
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
    for (const running of [...this.#running]) await this.#giveBack(running)
  }

  #register(name: string, run: JobHandler<unknown>, options: JobOptions, everyMs: number | null): void {
    if (this.#handlers.has(name)) throw new Error(`Two handlers take the jobs named ${name}.`)
    if (this.#state !== 'new') throw new Error(`The handler of ${name} came after the start.`)
    this.#handlers.set(name, { run, everyMs, leaseSeconds: 30, maxAttempts: 5, backoffSeconds: 5, ...options })
  }

  /**
   * Makes the rows of the chores, or draws a next turn nearer when its period has become shorter: all in one commit,
   * by name, so that nodes that start at once wait for each other in one order.
   */
  async #planChores(): Promise<void> {
    const now = this.#clock.now()
    const chores = [...this.#handlers].filter(([, { everyMs }]) => everyMs).sort(([a], [b]) => (a < b ? -1 : 1))
    if (chores.length === 0) return
    await this.#db.transaction(async (em) => {
      for (const [name, { everyMs }] of chores) {
        const dueAt = new Date(now.getTime() + (everyMs as number))
        await em.execute(PLAN, [newId('bgj', now), name, CHORE, 'null', now, now], 'run')
        await em.nativeUpdate(BackgroundJob, { name, key: CHORE, state: 'queued', dueAt: { $gt: dueAt } }, { dueAt })
      }
    })
  }

  /** Tells this node and the others of what a transaction enqueued, now that they can see it. */
  #announce(em: object): void {
    const names = this.#uncommitted.get(em)
    if (!names) return
    this.#uncommitted.delete(em)
    // Not awaited: whoever enqueued need not wait for the bus, and without it others find the job when they poll.
    for (const name of names) void this.#events.emit('jobs.enqueued', { name })
  }

  /** Looks for work now rather than at the next poll. */
  #wake(): void {
    if (this.#state !== 'started' || this.#handlers.size === 0) return
    this.#claimAgain = true
    this.#claiming ??= this.#claimAll().finally(() => {
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
      if (!this.#pollFailed) this.#log.error({ err: error }, 'background jobs wait: the database does not answer')
      this.#pollFailed = true
    }
  }

  /** Takes the job that has been due for longest, if there is one, and starts it. */
  async #claim(): Promise<boolean> {
    const now = this.#clock.now()
    const leaseId = randomText(12)
    const row = await this.#db.transaction(async (em) => {
      const row = await em.findOne(
        BackgroundJob,
        { dueAt: { $lte: now }, name: { $in: [...this.#handlers.keys()] } },
        { orderBy: { dueAt: 'asc' }, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
      )
      if (!row) return null
      const { leaseSeconds, maxAttempts, everyMs } = this.#handlers.get(row.name) as Handler
      if (row.state === 'running') this.#log.warn({ job: row.name, id: row.id }, 'a job is taken from a lost worker')
      // It was asked for again since the last attempt began: this one is the first that does it as it was asked for.
      if (row.rerunAt && row.rerunAt <= now) Object.assign(row, { rerunAt: null, attempts: 0 })
      if (row.attempts >= maxAttempts && !everyMs) {
        Object.assign(row, { state: 'failed', dueAt: null, leaseId: null, error: 'The worker was lost.' })
      } else {
        const dueAt = new Date(now.getTime() + leaseSeconds * 1000)
        Object.assign(row, { state: 'running', dueAt, leaseId, attempts: row.attempts + 1 })
      }
      return row
    })
    if (row?.state === 'running') this.#run(row, leaseId, now)
    else if (row) this.#log.error({ job: row.name, id: row.id }, 'a job failed for good: its worker was lost each time')
    return row !== null
  }

  #run(row: BackgroundJob, leaseId: string, startedAt: Date): void {
    const handler = this.#handlers.get(row.name) as Handler
    const abort = new AbortController()
    const heartbeat = setInterval(
      () => {
        running.renewing = this.#renew(running)
      },
      (handler.leaseSeconds * 1000) / 3,
    )
    const idle = Promise.resolve()
    const running: Running = { row, handler, leaseId, abort, heartbeat, renewing: idle, ended: idle }
    this.#running.add(running)
    const context: JobContext = { payload: row.payload, attempt: row.attempts, signal: abort.signal }
    const about = { 'job.name': row.name, 'job.id': row.id, 'job.attempt': row.attempts }
    running.ended = this.#tracing
      .span(`job ${row.name}`, about, () => Promise.try(handler.run, context))
      .then(
        () => this.#settle(running, (em) => this.#finish(em, running, startedAt)),
        (error) => this.#settle(running, (em) => this.#fail(em, running, startedAt, error)),
      )
      .finally(async () => {
        clearInterval(heartbeat)
        await running.renewing // whoever stops this worker may close the database next
        this.#running.delete(running)
        this.#wake()
      })
  }

  /** The row as long as this attempt holds it. */
  #held({ row, leaseId }: Running) {
    return { id: row.id, leaseId }
  }

  async #renew(running: Running): Promise<void> {
    const dueAt = new Date(this.#clock.now().getTime() + running.handler.leaseSeconds * 1000)
    try {
      const renewed = await this.#db.em().nativeUpdate(BackgroundJob, this.#held(running), { dueAt })
      if (renewed === 0 && this.#running.has(running)) running.abort.abort(new Error('the lease was lost'))
    } catch (error) {
      this.#log.warn({ err: error, job: running.row.name, id: running.row.id }, 'a lease could not be renewed')
    }
  }

  /** Writes an attempt's outcome down; after an outage too, since whatever is not written down is done again. */
  async #settle(running: Running, write: (em: SqlEntityManager) => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#db.transaction(write)
        return
      } catch (error) {
        const { name, id } = running.row
        this.#log.error({ err: error, job: name, id }, "a job's outcome could not be written down")
        if (tries === 10 || this.#state === 'stopped') return
      }
      await sleep(500)
    }
  }

  async #finish(em: SqlEntityManager, running: Running, startedAt: Date): Promise<void> {
    const { everyMs } = running.handler
    if (everyMs) return this.#rest(em, running, startedAt, null)
    const held = this.#held(running)
    if (await em.nativeDelete(BackgroundJob, { ...held, rerunAt: null })) return
    await em.nativeUpdate(BackgroundJob, held, {
      state: 'queued',
      dueAt: raw('rerun_at'),
      rerunAt: null,
      leaseId: null,
      attempts: 0,
      error: null,
    })
  }

  async #fail(em: SqlEntityManager, running: Running, startedAt: Date, cause: unknown): Promise<void> {
    const { row, handler } = running
    const error = cause instanceof Error ? cause.message : String(cause)
    const last = row.attempts >= handler.maxAttempts
    const about = { err: cause, job: row.name, id: row.id, attempt: row.attempts }
    if (handler.everyMs) {
      this.#log.error(about, 'a periodic job failed')
      return this.#rest(em, running, startedAt, error)
    }
    this.#log[last ? 'error' : 'warn'](about, last ? 'a last attempt failed' : 'a job failed and will be tried again')
    const backoffMs = Math.min(handler.backoffSeconds * 1000 * 2 ** (row.attempts - 1), LONGEST_BACKOFF_MS)
    const again = { state: 'queued', dueAt: new Date(this.#clock.now().getTime() + backoffMs) } as const
    await em.nativeUpdate(BackgroundJob, this.#held(running), { ...(last ? GIVEN_UP : again), leaseId: null, error })
  }

  /** A chore until its next turn. */
  async #rest(em: SqlEntityManager, running: Running, startedAt: Date, error: string | null): Promise<void> {
    const dueAt = new Date(startedAt.getTime() + (running.handler.everyMs as number))
    await em.nativeUpdate(BackgroundJob, this.#held(running), {
      state: 'queued',
      dueAt,
      leaseId: null,
      attempts: 0,
      error,
    })
  }

  async #giveBack(running: Running): Promise<void> {
    clearInterval(running.heartbeat)
    await running.renewing
    this.#running.delete(running)
    const { name, id, attempts } = running.row
    try {
      await this.#db.em().nativeUpdate(BackgroundJob, this.#held(running), {
        state: 'queued',
        dueAt: this.#clock.now(),
        leaseId: null,
        attempts: attempts - 1,
      })
      this.#log.info({ job: name, id }, 'a job was given back')
      await this.#events.emit('jobs.enqueued', { name })
    } catch (error) {
      this.#log.error({ err: error, job: name, id }, 'a job could not be given back; it is free when its lease ends')
    }
  }
}
