import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Installation } from '../installation.ts'
import { Child } from './child-process.ts'
import type { ToSupervisor } from './messages.ts'
import type { SupervisorPorts } from './supervisor-ports.ts'
import type { SupervisorSettings } from './supervisor-settings.ts'

/** A process that lived for less than this after its start ends too early. */
const SHORT_LIFE_MS = 60_000
/** The pause before a process is started again, after it has ended too early for the first and the further times. */
const BACK_OFF_MS = { first: 250, afterServing: 1000, longest: 30_000 }
/** So many early ends in a row are a crash loop. */
const LOOP = 3
/** Maximum time until a new process serves: a migration may be long. */
const START_MS = 15 * 60_000
/** What a process has beyond `limits.shutdownSeconds`: the time for leaving its connections, and some. */
const SPARE_SECONDS = 8

/**
 * Starts the processes of the platform, starts one that ends again, and replaces them one after the other on request. It
 * serves nothing itself.
 */
export class Supervisor {
  readonly #settings: SupervisorSettings
  readonly #installation: Installation
  readonly #ports: SupervisorPorts
  readonly #log: Logger
  readonly #terminal: boolean
  readonly #children = new Set<Child>()
  /** Early ends in a row, by slot. */
  readonly #earlyEnds = new Map<number, number>()
  readonly #troubles = new Map<number, string>()
  #stopping = false
  #replacing: Promise<void> | null = null
  #replaceAgain = false

  constructor(
    settings: SupervisorSettings,
    parts: { installation: Installation; ports: SupervisorPorts; log: Logger; terminal: boolean },
  ) {
    this.#settings = settings
    this.#installation = parts.installation
    this.#ports = parts.ports
    this.#log = parts.log
    this.#terminal = parts.terminal
  }

  /**
   * Starts the first process, which migrates the database and prints the addresses, and then the others.
   *
   * @returns false when the platform can't start; the process has said why
   */
  async start(): Promise<boolean> {
    const first = this.#spawn(1, true)
    await first.started
    if (first.state !== 'ready') return false
    this.#watch(first)
    for (let slot = 2; slot <= this.#settings.count && !this.#stopping; slot++) this.#watch(this.#spawn(slot))
    return true
  }

  /** Replaces each process by a new one of the program that is installed now. A second call waits for the first. */
  replaceAll(): Promise<void> {
    this.#replaceAgain = this.#replacing !== null
    this.#replacing ??= this.#replaceEach().finally(() => {
      this.#replacing = null
      if (this.#replaceAgain && !this.#stopping) void this.replaceAll()
    })
    return this.#replacing
  }

  /** Lets every process end in order. @returns whether all did */
  async stop(): Promise<boolean> {
    this.#stopping = true
    const children = [...this.#children]
    for (const child of children) child.send({ t: 'stop' })
    const deadline = setTimeout(() => this.kill(), (this.#settings.shutdownSeconds + SPARE_SECONDS) * 1000)
    const results = await Promise.all(children.map(({ ended }) => ended))
    clearTimeout(deadline)
    return results.every((result) => result === 0)
  }

  /** Ends every process at once. */
  kill(): void {
    this.#stopping = true
    for (const child of this.#children) child.kill()
  }

  #spawn(slot: number, announces = false): Child {
    const place = { number: slot, count: this.#settings.count, announces, terminal: this.#terminal }
    const child = new Child(this.#installation, place, this.#settings.port, (from, message) =>
      this.#receive(from, message),
    )
    this.#children.add(child)
    void child.ended.then(() => {
      this.#children.delete(child)
      this.#ports.changed([...this.#children])
    })
    return child
  }

  #receive(child: Child, message: ToSupervisor): void {
    if (message.t === 'ready') {
      this.#log.info({ process: child.slot, pid: child.pid }, 'a process serves')
      this.#ports.changed([...this.#children])
      child.send({ t: 'trouble', message: this.#trouble })
      return
    }
    const { host, port } = message
    void this.#ports.open(child, { host, port }).then((code) => {
      child.send({ t: 'listening', host, port, ...(code ? { code } : {}) })
    })
  }

  /** Starts a process again when it ends without being told to. */
  async #watch(child: Child): Promise<void> {
    const result = await child.ended
    if (this.#stopping || child.leaves) return
    const { slot } = child
    const lived = performance.now() - child.startedAt
    const early = lived < SHORT_LIFE_MS ? (this.#earlyEnds.get(slot) ?? 0) + 1 : 0
    this.#earlyEnds.set(slot, early)
    const longest = child.served ? BACK_OFF_MS.afterServing : BACK_OFF_MS.longest
    const pause = early === 0 ? 0 : Math.min(BACK_OFF_MS.first * 2 ** (early - 1), longest)
    this.#log.error({ process: slot, result, again: pause }, 'a process has ended, and is started again')
    if (early >= LOOP) {
      this.#troubles.set(
        slot,
        `Process ${slot} has ended ${early} times in a row soon after its start (${result}). The log says why. It is started again and again.`,
      )
      this.#tellTrouble()
    }
    await sleep(pause)
    // A replacement may have begun meanwhile.
    if (this.#stopping || this.#inSlot(slot).length > 0) return
    const next = this.#spawn(slot)
    void this.#watch(next)
    if (early < LOOP) return
    await Promise.race([sleep(SHORT_LIFE_MS, undefined, { ref: false }), next.ended])
    if (next.state === 'ended') return
    this.#earlyEnds.delete(slot)
    this.#troubles.delete(slot)
    this.#tellTrouble()
  }

  async #replaceEach(): Promise<void> {
    this.#log.info('the processes are replaced one after the other')
    for (let slot = 1; slot <= this.#settings.count && !this.#stopping; slot++) {
      if (await this.#replace(slot)) continue
      this.#log.error({ process: slot }, 'the new process does not start, so the old ones go on')
      return
    }
    this.#log.info('the processes have been replaced')
  }

  /** @returns whether a new process serves */
  async #replace(slot: number): Promise<boolean> {
    const former = this.#inSlot(slot)
    const next = this.#spawn(slot)
    await Promise.race([next.started, sleep(START_MS, undefined, { ref: false })])
    if (next.state !== 'ready') {
      // Without another process in the slot, it is started again.
      if (former.every(({ state }) => state === 'ended')) void this.#watch(next)
      next.kill()
      return false
    }
    this.#earlyEnds.delete(slot)
    if (this.#troubles.delete(slot)) this.#tellTrouble()
    void this.#watch(next)
    for (const child of former) this.#retire(child)
    await Promise.all(former.map(({ ended }) => ended))
    return true
  }

  #inSlot(slot: number): Child[] {
    return [...this.#children].filter((child) => child.slot === slot)
  }

  #retire(child: Child): void {
    child.leaves = true
    if (child.state === 'ready') child.state = 'leaving'
    this.#ports.changed([...this.#children])
    child.send({ t: 'leave' })
    const deadline = setTimeout(() => child.kill(), (this.#settings.shutdownSeconds + SPARE_SECONDS) * 1000)
    void child.ended.then(() => clearTimeout(deadline))
  }

  get #trouble(): string | null {
    return this.#troubles.size === 0 ? null : [...this.#troubles.values()].join(' ')
  }

  #tellTrouble(): void {
    for (const child of this.#children) child.send({ t: 'trouble', message: this.#trouble })
  }
}
