import { AsyncLocalStorage } from 'node:async_hooks'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../../core/data/folders/make-folder.ts'
import { newId } from '../../../core/ids.ts'
import type { Availability, BlenderExecutor } from '../../../drivers/blender/interface.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { JobRow, WorkerRow } from '../entities.ts'
import { ATTEMPTS, type Claim, type Outcome, type Queue } from '../jobs/queue.ts'
import type { BlenderLimits } from '../schemas.ts'
import { runJob } from './run-job.ts'

/** The periodic job that recovers the jobs of failed workers. It runs in every process of the platform. */
export const LEASES = 'blender/leases'
/** The maximum delay for work without an event, and for a cancellation by another process. */
const POLL_MS = 1000
/** The time for which an answer of the executor is cached. */
const AVAILABLE_MS = 300_000
const UNAVAILABLE_MS = 15_000
/** The delay of the first Blender check, so that it does not slow the start. */
const FIRST_LOOK_MS = 2000
/** The interval of checks of an incomplete Blender, which may be repaired in the meantime. */
const AGAIN_MS = 60_000
/** The minimum interval of progress writes. */
const REPORT_MS = 500
/** The time without a heartbeat after which a process does not count as a worker. */
export const WORKER_LIVES_MS = 90_000
const ANNOUNCE_MS = 30_000
/** The delay after a run that failed because of the storage or the machine, not the script. */
const REST_MS = 5000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'images' | 'log'> & {
  storage: Storage
  executor: BlenderExecutor
  queue: Queue
  limits: BlenderLimits
  /** A scratch folder of this process for the temporary files of runs. */
  folder: string
  /** Called with the result of each Blender check. */
  found(availability: Availability): void
  /** Called for each change of a job that this worker makes. */
  changed(job: JobRow): Promise<void>
}

interface Run {
  claim: Claim
  abort: AbortController
  progress: { value: number; stage: string; written: number }
  ended: Promise<void>
}

/** The status of a process whose configuration leaves jobs to other processes. */
const LEFT_TO_OTHERS: Availability = {
  available: false,
  reason: 'this server leaves jobs to `gameyard worker`, and none runs.',
}

/** Claims jobs from the queue and runs them, within the capacity of the executor. */
export class Worker {
  readonly #id: string
  readonly #parts: Parts
  readonly #runs = new Set<Run>()
  #known: { at: number; answer: Promise<Availability> } | null = null
  #announcedAt = Number.NEGATIVE_INFINITY
  #state: 'new' | 'started' | 'stopped' = 'new'
  #timer: NodeJS.Timeout | undefined
  /** Runs work outside of the request that has submitted a job: without its caller and its author. */
  readonly #outsideOfRequests = AsyncLocalStorage.snapshot()
  #asking: NodeJS.Timeout | undefined
  #turn: Promise<void> | null = null
  #again = false
  #failed = false
  #restUntil = 0
  #heartbeat: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#id = newId('wrk', parts.clock.now())
  }

  /** Returns which runs this machine supports. The result is cached, since a check takes a second. */
  availability(): Promise<Availability> {
    const { executor } = this.#parts
    if (executor.capacity === 0) return Promise.resolve(LEFT_TO_OTHERS)
    const now = performance.now()
    if (!this.#known || now > this.#known.at) {
      const answer = executor.check().then((found) => {
        const holds = found.available && !found.missing ? AVAILABLE_MS : UNAVAILABLE_MS
        this.#known = { at: performance.now() + holds, answer }
        this.#parts.found(found)
        if (found.available && found.missing) this.#askLater(AGAIN_MS)
        return found
      })
      this.#known = { at: Number.POSITIVE_INFINITY, answer }
    }
    return this.#known.answer
  }

  /** Schedules the next Blender check. */
  #askLater(ms: number): void {
    if (this.#state !== 'started') return
    clearTimeout(this.#asking)
    this.#asking = setTimeout(() => void this.availability().catch(() => {}), ms).unref()
  }

  /** Starts to claim jobs. */
  start(): void {
    const { executor, events, limits } = this.#parts
    this.#state = 'started'
    if (executor.capacity === 0) return
    events.on('blender.job', ({ jobId, status }) => {
      if (status === 'queued') this.wake()
      if (status === 'cancelled') for (const run of this.#runs) if (run.claim.job.id === jobId) run.abort.abort()
    })
    this.#heartbeat = setInterval(() => void this.#beat(), (limits.blenderLeaseSeconds * 1000) / 3)
    this.#askLater(FIRST_LOOK_MS)
    this.wake()
  }

  /** Checks for work now instead of at the next poll. */
  wake(): void {
    if (this.#state !== 'started') return
    this.#again = true
    this.#turn ??= this.#outsideOfRequests(() => this.#look()).finally(() => {
      this.#turn = null
      if (this.#again) this.wake()
      else if (this.#state === 'started') this.#timer = setTimeout(() => this.wake(), POLL_MS).unref()
    })
  }

  /** Recovers the jobs of failed workers. It needs no Blender, so servers without one do it too. */
  async recover(): Promise<void> {
    const { queue, log, changed } = this.#parts
    for (const job of await queue.recover()) {
      log.warn({ job: job.id, status: job.status }, 'took over a Blender job from a lost worker')
      await changed(job)
    }
  }

  /** Ends every run and returns the jobs to the queue, for other workers or the next start. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
    clearTimeout(this.#asking)
    clearInterval(this.#heartbeat)
    await this.#turn
    for (const { abort } of this.#runs) abort.abort()
    await Promise.allSettled([...this.#runs].map((run) => run.ended))
    if (this.#announcedAt > Number.NEGATIVE_INFINITY)
      await this.#parts.db
        .em()
        .nativeDelete(WorkerRow, { id: this.#id })
        .catch(() => {})
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer)
    const { queue, executor, log } = this.#parts
    try {
      while (this.#again && this.#state === 'started') {
        this.#again = false
        await this.#endLost()
        await this.recover()
        while (
          this.#runs.size < executor.capacity &&
          this.#state === 'started' &&
          performance.now() >= this.#restUntil
        ) {
          if ((await queue.counts()).queued === 0 || !(await this.#ready())) break
          const claim = await queue.claim()
          if (!claim) break
          this.#begin(claim)
        }
      }
      this.#failed = false
    } catch (error) {
      if (!this.#failed) log.error({ err: error }, 'Blender jobs are paused: the queue does not answer')
      this.#failed = true
    }
  }

  async #ready(): Promise<boolean> {
    const found = await this.availability()
    if (!found.available) return false
    // A worker with an incomplete Blender leaves jobs to complete ones if there are any.
    if (found.missing) return !(await this.#othersRun())
    await this.announce()
    return true
  }

  async #othersRun(): Promise<boolean> {
    const { db, clock } = this.#parts
    const since = new Date(clock.now().getTime() - WORKER_LIVES_MS)
    return (await db.em().count(WorkerRow, { id: { $ne: this.#id }, seenAt: { $gt: since } })) > 0
  }

  /** Records in the database that this process runs jobs, so that other processes accept submissions. */
  async announce(): Promise<void> {
    const { executor, db, clock } = this.#parts
    const found = await this.availability()
    if (!found.available || found.missing || performance.now() - this.#announcedAt < ANNOUNCE_MS) return
    this.#announcedAt = performance.now()
    await db.em().upsert(WorkerRow, {
      id: this.#id,
      executor: executor.name,
      capacity: executor.capacity,
      blenderVersion: found.blenderVersion,
      seenAt: clock.now(),
    })
  }

  async #beat(): Promise<void> {
    const { queue, log } = this.#parts
    try {
      if (this.#announcedAt > Number.NEGATIVE_INFINITY) await this.announce()
      for (const run of this.#runs) if (!(await queue.renew(run.claim))) run.abort.abort()
    } catch (error) {
      log.warn({ err: error }, 'the leases of Blender jobs could not be renewed')
    }
  }

  /** Ends the runs whose jobs were cancelled or taken over. */
  async #endLost(): Promise<void> {
    if (this.#runs.size === 0) return
    const runs = [...this.#runs]
    const lost = await this.#parts.queue.lost(runs.map((run) => run.claim))
    for (const run of runs) if (lost.includes(run.claim)) run.abort.abort()
  }

  #begin(claim: Claim): void {
    const run: Run = {
      claim,
      abort: new AbortController(),
      progress: { value: 0, stage: 'starting', written: 0 },
      ended: Promise.resolve(),
    }
    this.#runs.add(run)
    run.ended = this.#perform(run)
      .catch((error) => this.#parts.log.error({ err: error, job: claim.job.id }, 'a Blender job could not be run'))
      .finally(() => {
        this.#runs.delete(run)
        this.wake()
      })
  }

  async #perform(run: Run): Promise<void> {
    const { queue, changed, log, folder, db } = this.#parts
    const { claim, abort } = run
    const { job } = claim
    await changed(job)
    try {
      await makeFolder(folder)
      const from = job.sourceJobId ? await db.em().findOne(JobRow, { id: job.sourceJobId }) : null
      const source = from?.artifacts.find(({ name }) => name === 'scene.blend') ?? null
      const outcome = await runJob(
        { ...this.#parts, scratch: folder },
        { ...claim, source },
        { signal: abort.signal, onProgress: (value, stage) => this.#report(run, value, stage) },
      )
      if (!outcome) {
        await queue.giveBack(claim) // no effect unless the process stops: a cancelled job has no lease
        return
      }
      await this.#end(claim, outcome)
    } catch (error) {
      log.error({ err: error, job: job.id }, 'a Blender job could not be run here')
      this.#restUntil = performance.now() + REST_MS
      this.#known = null
      const ours = (error as { code?: string }).code === 'storage_unavailable' || !(await this.availability()).available
      // An error of the platform does not count as a run. In other cases the script may have crashed the worker.
      if (ours) await queue.giveBack(claim)
      else if (job.attempts < ATTEMPTS) await queue.giveBack(claim, job.attempts)
      else await this.#end(claim, { status: 'failed', code: 'crashed', log: '' })
    }
  }

  async #end(claim: Claim, outcome: Outcome): Promise<void> {
    const { queue, changed, log, db } = this.#parts
    if (!(await queue.finish(claim, outcome))) return
    log.info({ job: claim.job.id, status: outcome.status }, 'a Blender job ended')
    const ended = await db.em().findOne(JobRow, { id: claim.job.id })
    if (ended) await changed(ended)
  }

  /** Stores progress at a limited rate. */
  #report(run: Run, value: number, stage: string): void {
    const { progress, claim } = run
    Object.assign(progress, { value, stage })
    const now = performance.now()
    if (now - progress.written < REPORT_MS) return
    progress.written = now
    const { queue, changed, log } = this.#parts
    queue
      .report(claim, value, stage)
      .then(() => changed({ ...claim.job, progress: value, stage }))
      .catch((error) => log.warn({ err: error, job: claim.job.id }, 'the progress of a job could not be stored'))
  }
}

/** Creates a scratch folder for this process, and deletes those of dead processes. */
export async function scratchFolder(dataDir: string): Promise<string> {
  const above = join(dataDir, 'blender')
  for (const name of await readdir(above).catch(() => [])) {
    const pid = Number(/^scratch-(\d+)$/.exec(name)?.[1])
    if (pid && (pid === process.pid || !isAlive(pid))) await rm(join(above, name), { recursive: true, force: true })
  }
  return join(above, `scratch-${process.pid}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
