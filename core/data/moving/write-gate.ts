import { type FSWatcher, watch } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../events.ts'
import type { Database } from '../database.ts'
import { makeFolder } from '../folders/make-folder.ts'
import {
  ANSWER_CHANNEL,
  answerInFolder,
  LEASE_MS,
  REQUEST,
  readRequest,
  STOP_CHANNEL,
  STOP_FOLDER,
  type StopAnswer,
  type StopRequest,
} from './write-stop.ts'

type Answer = (move: string, state: StopAnswer['state']) => Promise<void>

interface Parts {
  db: Pick<Database, 'setReadOnly'>
  bus: Bus
  /** Whether requests also come over the bus, and not only as files, to the processes of one data folder. */
  byBus: boolean
  dataDir: string
  log: FastifyBaseLogger
  /** The name of this process. */
  node: string
  /** Default: `LEASE_MS` */
  leaseMs?: number
}

/**
 * Stops this process from writing while a move takes its last step.
 *
 * It costs nothing while there is no move: the system reports changes of a folder that is otherwise never touched, or
 * the bus those of a channel.
 */
export class WriteGate {
  readonly #parts: Parts
  readonly #folder: string
  #watcher: FSWatcher | null = null
  #unsubscribe: (() => Promise<void>) | null = null
  #stopped: StopRequest | null = null
  #lease: NodeJS.Timeout | undefined
  /** The move whose lease ended: this process may have written since it answered. */
  #lapsed: string | null = null
  #turn: Promise<void> = Promise.resolve()

  private constructor(parts: Parts) {
    this.#parts = parts
    this.#folder = join(parts.dataDir, STOP_FOLDER)
  }

  static async open(parts: Parts): Promise<WriteGate> {
    const gate = new WriteGate(parts)
    await gate.#watchFolder()
    if (parts.byBus) await gate.#listenToBus()
    return gate
  }

  /** Whether requests that change something are to be refused. */
  get closed(): boolean {
    return this.#stopped !== null
  }

  async close(): Promise<void> {
    clearTimeout(this.#lease)
    this.#lease = undefined
    this.#watcher?.close()
    await this.#unsubscribe?.().catch(() => {})
    await this.#turn
  }

  async #listenToBus(): Promise<void> {
    const { bus, node } = this.#parts
    this.#unsubscribe = await bus.subscribe(STOP_CHANNEL, (text) => {
      const answer: Answer = (move, state) => bus.publish(ANSWER_CHANNEL, JSON.stringify({ move, node, state }))
      this.#inTurn(() => this.#obey(JSON.parse(text), answer))
    })
  }

  async #watchFolder(): Promise<void> {
    await makeFolder(this.#folder)
    // It is read in its turn: of two that are read at once, the older one might be obeyed last.
    const look = () => this.#inTurn(() => this.#obeyFolder())
    const unnoticed = (err: unknown) =>
      this.#parts.log.warn({ err }, 'a move of this platform would not be noticed: stop it for the last step')
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, (_event, name) => {
        if (name === REQUEST) look()
      })
      this.#watcher.on('error', unnoticed)
    } catch (error) {
      unnoticed(error) // the system has a limit of watched folders
    }
    // A process that starts during the last step of a move must not write either. A former move's request is over.
    const file = join(this.#folder, REQUEST)
    const written = (await stat(file).catch(() => null))?.mtimeMs ?? 0
    const request = await readRequest(this.#folder)
    if (request?.state === 'stop' && Date.now() - written < LEASE_MS) look()
    else await rm(file, { force: true })
  }

  /** Does one thing after another. */
  #inTurn(work: () => Promise<void>): void {
    this.#turn = this.#turn
      .then(work)
      .catch((err) => this.#parts.log.error({ err }, 'a request of a move could not be obeyed'))
  }

  async #obeyFolder(): Promise<void> {
    const request = await readRequest(this.#folder)
    const { node } = this.#parts
    if (request) await this.#obey(request, (move, state) => answerInFolder(this.#folder, { move, node, state }))
  }

  async #obey(request: StopRequest, answer: Answer): Promise<void> {
    const { db, log } = this.#parts
    const first = this.#stopped?.move !== request.move
    if (request.state === 'go') {
      if (first) return
      clearTimeout(this.#lease)
      return this.#open('the move has ended without success')
    }
    const completed = !first && this.#stopped?.state === 'done'
    // A repetition that arrives late.
    if (completed && request.state === 'stop') return
    clearTimeout(this.#lease)
    this.#stopped = request
    if (first) await db.setReadOnly(true)
    if (request.state === 'done') {
      if (!completed) log.warn('the platform has been moved: it no longer accepts changes; start the new one')
      // The request is repeated until all have answered.
      await answer(request.move, request.move === this.#lapsed ? 'lapsed' : 'done')
      return
    }
    if (first) log.warn('writing is stopped for the last step of a move')
    const lease = setTimeout(() => this.#afterInput(() => this.#expire(lease)), this.#parts.leaseMs ?? LEASE_MS).unref()
    this.#lease = lease
    if (first) await answer(request.move, 'stop')
  }

  /**
   * Does something after what has arrived. A process that was held up, such as by a machine that slept, finds the end of
   * the lease and repetitions of the request at the same time, and Node runs timers first.
   */
  #afterInput(work: () => Promise<void>): void {
    setImmediate(() => setImmediate(() => this.#inTurn(work)))
  }

  /** Writes again, unless the lease was renewed meanwhile. */
  async #expire(lease: NodeJS.Timeout): Promise<void> {
    if (this.#lease !== lease || this.#stopped?.state !== 'stop') return
    this.#lapsed = this.#stopped.move
    await this.#open('the move no longer answers')
  }

  async #open(reason: string): Promise<void> {
    this.#stopped = null
    await this.#parts.db.setReadOnly(false)
    this.#parts.log.warn(`writing goes on: ${reason}`)
  }
}
