import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import Type from 'typebox'
import type { Clock } from '../../core/clock.ts'
import { defineDriver } from '../../core/driver.ts'
import { type Bus, BusUnavailable } from './interface.ts'
import { type Address, addressOf, socketProblem } from './ipc/address.ts'
import { Connection } from './ipc/connection.ts'
import { KIND } from './ipc/frames.ts'
import { Hub } from './ipc/hub.ts'

const RECONNECT_MS = { first: 10, longest: 500 }
/** The time in which one of the processes becomes the hub at the start. */
const START_MS = 10_000
/** The time for which operations wait for another hub; later ones of the same outage fail at once. */
const TAKEOVER_MS = 600
/** The time for which a subscription is repeated. */
const SUBSCRIBE_MS = { pause: 100, longest: 30_000 }

type Listener = (message: string) => void

/**
 * A bus for the processes of one machine with the same data folder. They meet at a Unix socket there, on Windows at a
 * named pipe. The process that has the lock beside the socket is the hub; when it ends, another takes over, and the rest
 * connect to that, while operations wait. If that takes long, they fail at once instead of queueing, as with Redis.
 */
export default defineDriver({
  family: 'bus',
  name: 'ipc',
  config: Type.Object(
    {
      path: Type.String({
        default: 'bus.sock',
        minLength: 1,
        description: 'The Unix socket at which the processes meet, relative to the data folder.',
      }),
    },
    { additionalProperties: false },
  ),

  async create({ path }, { dataDir, clock, log }): Promise<Bus> {
    const bus = new IpcBus(await addressOf(dataDir, path), { clock, log })
    await bus.open()
    return bus
  },
})

class IpcBus implements Bus {
  readonly shared = true
  readonly #address: Address
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #channels = new Map<string, { listeners: Set<Listener>; ready: boolean }>()
  #connection: Connection | null = null
  #hub: Hub | null = null
  #closed = false
  #connecting: Promise<void> = Promise.resolve()
  #awaySince = 0

  constructor(address: Address, { clock, log }: { clock: Clock; log: FastifyBaseLogger }) {
    this.#address = address
    this.#clock = clock
    this.#log = log
  }

  /** @throws StartupError when the socket can't be used */
  async open(): Promise<void> {
    const giveUpAt = performance.now() + START_MS
    for (let wait = RECONNECT_MS.first; ; wait = Math.min(wait * 2, RECONNECT_MS.longest)) {
      try {
        await this.#connect()
        return
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        // Another process is about to listen, or has just ended.
        const early = code === 'ECONNREFUSED' || code === 'ENOENT' || error instanceof BusUnavailable
        if (!early || performance.now() > giveUpAt) throw socketProblem(this.#address.path, error as Error)
      }
      await sleep(wait)
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#ask(KIND.publish, channel, Buffer.from(message))
  }

  async subscribe(name: string, listener: Listener): Promise<() => Promise<void>> {
    if (this.#closed) throw new BusUnavailable()
    const channel = this.#channels.get(name) ?? { listeners: new Set(), ready: false }
    this.#channels.set(name, channel)
    // The wrapper makes two subscriptions of the same function distinct.
    const own: Listener = (message) => listener(message)
    channel.listeners.add(own)
    try {
      if (!channel.ready) await this.#subscribe(name)
      channel.ready = true
    } catch (error) {
      channel.listeners.delete(own)
      throw error
    }
    return async () => {
      channel.listeners.delete(own)
      if (channel.listeners.size > 0 || this.#channels.get(name) !== channel) return
      this.#channels.delete(name)
      // No listener remains, so it does not matter whether the hub hears of it.
      await this.#ask(KIND.unsubscribe, name).catch(() => {})
    }
  }

  increment(key: string, windowMs: number) {
    return this.#call<{ count: number; resetMs: number }>('increment', key, windowMs)
  }

  keepAlive(holder: string, ttlMs: number) {
    return this.#call<boolean>('keepAlive', holder, ttlMs)
  }

  acquire(key: string, holder: string) {
    return this.#call<{ holder: string; fence: number }>('acquire', key, holder)
  }

  async release(key: string, holder: string): Promise<void> {
    await this.#call('release', key, holder)
  }

  save(key: string, fence: number, text: string, ttlMs: number) {
    return this.#call<boolean>('save', key, fence, text, ttlMs)
  }

  append(key: string, fence: number, texts: string[], ttlMs: number) {
    return this.#call<boolean>('append', key, fence, texts, ttlMs)
  }

  load(key: string) {
    return this.#call<{ fence: number; texts: string[] } | null>('load', key)
  }

  async ping(): Promise<void> {
    await this.#call('ping')
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#channels.clear()
    this.#connection?.close()
    this.#connection = null
    await this.#connecting
    await this.#hub?.close()
  }

  async #call<Result>(...call: [method: string, ...values: unknown[]]): Promise<Result> {
    return JSON.parse((await this.#ask(KIND.call, '', Buffer.from(JSON.stringify(call)))).toString())
  }

  /** Processes subscribe when they start, and a hub of a busy machine may be late then: that must not end their start. */
  async #subscribe(name: string): Promise<void> {
    const giveUpAt = performance.now() + SUBSCRIBE_MS.longest
    for (;;) {
      try {
        await this.#ask(KIND.subscribe, name)
        return
      } catch (error) {
        if (this.#closed || performance.now() > giveUpAt) throw error
      }
      await sleep(SUBSCRIBE_MS.pause)
    }
  }

  #ask(kind: number, channel: string, body?: Buffer): Promise<Buffer> {
    return this.#connection?.ask(kind, channel, body) ?? this.#askNextHub(kind, channel, body)
  }

  async #askNextHub(kind: number, channel: string, body?: Buffer): Promise<Buffer> {
    const left = this.#awaySince + TAKEOVER_MS - performance.now()
    if (this.#closed || left <= 0) throw new BusUnavailable()
    const timeout = new AbortController()
    await Promise.race([this.#connecting, sleep(left, undefined, { signal: timeout.signal })]).catch(() => {})
    timeout.abort()
    if (!this.#connection) throw new BusUnavailable()
    return this.#connection.ask(kind, channel, body)
  }

  /** Connects to the hub, or becomes it. @throws when there is none yet */
  async #connect(): Promise<void> {
    const deliver = (channel: string, message: string) => this.#deliver(channel, message)
    const { path } = this.#address
    const connection = await Connection.open(path, deliver).catch(async () => {
      this.#hub ??= await Hub.open(this.#address, this.#clock)
      return Connection.open(path, deliver)
    })
    try {
      await Promise.all([...this.#channels.keys()].map((channel) => connection.ask(KIND.subscribe, channel)))
    } catch (error) {
      connection.close()
      throw error
    }
    if (this.#closed) return connection.close()
    for (const channel of this.#channels.values()) channel.ready = true
    this.#connection = connection
    void connection.left.then(() => {
      if (this.#connection !== connection) return
      this.#connection = null
      this.#awaySince = performance.now()
      for (const channel of this.#channels.values()) channel.ready = false
      if (!this.#closed) this.#connecting = this.#reconnect()
    })
  }

  async #reconnect(): Promise<void> {
    this.#log.warn('the hub of the bus has ended')
    for (let wait = RECONNECT_MS.first; !this.#closed; wait = Math.min(wait * 2, RECONNECT_MS.longest)) {
      try {
        await this.#connect()
        if (!this.#closed) this.#log.info({ hub: this.#hub !== null }, 'the bus is available again')
        return
      } catch {
        await sleep(wait * (0.5 + Math.random() / 2), undefined, { ref: false })
      }
    }
  }

  #deliver(name: string, message: string): void {
    for (const listener of this.#channels.get(name)?.listeners ?? []) {
      try {
        listener(message)
      } catch (error) {
        this.#log.error({ err: error, channel: name }, 'a bus listener failed')
      }
    }
  }
}
