import { type ChildProcess, spawn } from 'node:child_process'
import type { Installation } from '../installation.ts'
import { NODE_FLAGS } from '../node-flags.js'
import { forwardLines } from './forward-lines.ts'
import { PLACE_VARIABLE, type Place, type ToProcess, type ToSupervisor } from './messages.ts'
import type { PortUser } from './supervisor-ports.ts'

export type ChildState = 'starting' | 'ready' | 'leaving' | 'ended'

/** A process of the platform, as its supervisor sees it. */
export class Child implements PortUser {
  readonly slot: number
  readonly startedAt = performance.now()
  readonly ports = new Set<string>()
  /** Resolves when it serves, or has ended. */
  readonly started: Promise<void>
  /** Resolves with the exit code, or the name of the signal that killed it. */
  readonly ended: Promise<number | string>
  state: ChildState = 'starting'
  /** Whether it has served at all. */
  served = false
  /** Whether its end is wanted. */
  leaves = false
  readonly #process: ChildProcess

  /** @param take called with each message of the process */
  constructor(
    installation: Installation,
    place: Place,
    port: number,
    take: (child: Child, message: ToSupervisor) => void,
  ) {
    this.slot = place.number
    const [command, ...first] = installation.program
    // The flags are given here, since a process that replaces itself to get them would lose its channel.
    const flags = installation.binary ? [] : NODE_FLAGS
    this.#process = spawn(command, [...flags, ...first, ...process.argv.slice(2), '--port', String(port)], {
      env: { ...process.env, [PLACE_VARIABLE]: JSON.stringify(place) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'json',
    })
    const { stdout, stderr } = this.#process
    if (stdout) forwardLines(stdout, process.stdout)
    if (stderr) forwardLines(stderr, process.stderr)
    this.ended = new Promise((resolve) => {
      const end = (result: number | string) => {
        this.state = 'ended'
        resolve(result)
      }
      this.#process.once('error', (error) => end(error.message))
      this.#process.once('close', (code, signal) => end(signal ?? code ?? 1))
    })
    const ready = new Promise<void>((resolve) => {
      this.#process.on('message', (message: ToSupervisor) => {
        if (message.t === 'ready' && this.state === 'starting') {
          this.state = 'ready'
          this.served = true
          resolve()
        }
        take(this, message)
      })
    })
    this.started = Promise.race([ready, this.ended.then(() => {})])
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  get accepts(): boolean {
    return this.state === 'ready'
  }

  send(message: ToProcess, handle?: unknown): void {
    if (!this.#process.connected) return
    // A process may end at any moment; its `ended` says so.
    this.#process.send(message, handle as never, {}, () => {})
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}
