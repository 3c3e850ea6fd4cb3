import type { FastifyInstance } from 'fastify'
import { leaveConnections } from '../../core/http/shutdown.ts'
import { PLACE_VARIABLE, type Place, type ToProcess, type ToSupervisor } from './messages.ts'
import { SharedPorts } from './shared-ports.ts'

/** How long a process whose place another has taken waits for the next request of each connection. */
const LEAVE_SECONDS = 5

/** The side of a process that a supervisor has started. */
export class SupervisorClient {
  readonly place: Place
  readonly ports = new SharedPorts((address) => this.#tell({ t: 'listen', ...address }))
  #app: FastifyInstance | null = null
  #stop: (reason: string) => void = () => process.exit(0)
  #trouble: string | null = null

  /** Returns null in a process that no supervisor has started. */
  static of(env: NodeJS.ProcessEnv): SupervisorClient | null {
    const text = env[PLACE_VARIABLE]
    if (!text || !process.connected) return null
    delete env[PLACE_VARIABLE] // programs that this process starts have no place
    return new SupervisorClient(JSON.parse(text))
  }

  private constructor(place: Place) {
    this.place = place
    process.on('message', (message: ToProcess, handle) => this.#receive(message, handle))
    // A supervisor that has been killed leaves nobody who would start processes, so these end too.
    process.once('disconnect', () => this.#stop('the supervisor has ended'))
    // A terminal sends these to all processes. The supervisor decides what they mean.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
    process.on('SIGTERM', () => this.#stop('SIGTERM'))
  }

  /** Called once the process serves. @param stop stops the app, and exits; further calls do nothing */
  ready(app: FastifyInstance, stop: (reason: string) => void): void {
    this.#app = app
    this.#stop = stop
    this.#showTrouble()
    if (process.connected) this.#tell({ t: 'ready' })
    else stop('the supervisor has ended')
  }

  /** Lets the process end after a start that has failed. */
  abandon(): void {
    this.#stop = () => {}
    if (process.connected) process.disconnect?.()
  }

  #tell(message: ToSupervisor): void {
    process.send?.(message)
  }

  #receive(message: ToProcess, handle: unknown): void {
    this.ports.receive(message, handle)
    if (message.t === 'stop') this.#stop('the platform stops')
    else if (message.t === 'leave') void this.#leave()
    else if (message.t === 'trouble') {
      this.#trouble = message.message
      this.#showTrouble()
    }
  }

  async #leave(): Promise<void> {
    if (this.#app) await leaveConnections(this.#app, LEAVE_SECONDS)
    this.#stop('another process has taken the place')
  }

  #showTrouble(): void {
    if (!this.#app) return
    const { health, clock } = this.#app
    const message = this.#trouble ?? 'All processes run.'
    health.notes.set('processes', { state: this.#trouble ? 'warning' : 'ok', message, at: clock.now() })
  }
}
