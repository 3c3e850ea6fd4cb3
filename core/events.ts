import type { FastifyBaseLogger } from 'fastify'

/**
 * State that nodes share beside the database: messages, counters, and leases with the text saved under them. The family
 * `bus`.
 *
 * `publish` reaches every subscriber on every node, the sender's included, at most once and in the order in which one
 * node published on one channel. A disconnected node misses messages, so every cache must bound the age of its entries
 * (contracts, section 4: 5 s). Channels, keys and messages are any text; a message has at most 1 MiB.
 *
 * Every method may throw `BusUnavailable` (drivers/bus/interface.ts): within about a second while the server is away,
 * and at once after `close`. Messages are not queued for later. A subscription survives an outage.
 */
export interface Bus {
  /** Whether other nodes can be on it. Where none can, leases are always to be had. */
  readonly shared: boolean
  publish(channel: string, message: string): Promise<void>
  /**
   * Subscribes to a channel, and resolves once messages published from then on arrive. The result ends the
   * subscription, and may be called repeatedly. A listener that throws is logged and does not affect other listeners.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>
  /**
   * Adds one to a counter that expires `windowMs` after its first increment.
   *
   * @returns the count within the window, this increment included, and the milliseconds until the window ends
   */
  increment(key: string, windowMs: number): Promise<{ count: number; resetMs: number }>
  /**
   * Renews all leases of a holder for `ttlMs` from now.
   *
   * @returns whether the holder was alive before; otherwise another holder may have taken its leases
   */
  keepAlive(holder: string, ttlMs: number): Promise<boolean>
  /**
   * Takes a lease, unless another living holder has it.
   *
   * @returns the current lease; a newly taken lease has a greater `fence` than any before
   */
  acquire(key: string, holder: string): Promise<Lease>
  /** Gives a lease back, if it is the holder's, and forgets what was saved under its key. */
  release(key: string, holder: string): Promise<void>
  /**
   * Saves a text under a key for `ttlMs`, replacing the previous one.
   *
   * @param fence of the caller's lease
   * @returns false when a holder with a greater fence has saved: the lease is lost
   */
  save(key: string, fence: number, text: string, ttlMs: number): Promise<boolean>
  /** Adds texts to what was saved with exactly this fence; `ttlMs` begins anew. @returns false when it is not there */
  append(key: string, fence: number, texts: string[], ttlMs: number): Promise<boolean>
  /** The saved value, and the appended ones in order; null when there is nothing. */
  load(key: string): Promise<{ fence: number; texts: string[] } | null>
  /** Rejects when the bus can't be reached; used by /readyz. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The right to do something alone, such as to run a room. */
export interface Lease {
  holder: string
  /** Grows with each taking: what carries a smaller one comes from a holder that has lost the lease. */
  fence: number
}

/** The domain events, by name; a plugin adds its own by declaration merging. Payloads survive JSON. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by plugins
export interface DomainEvents {}

type Listener<Name extends keyof DomainEvents> = (payload: DomainEvents[Name]) => void | Promise<void>

const CHANNEL = 'events'

/**
 * Typed domain events, such as "a deploy went live". Every listener on every node receives every event; the emitting
 * node receives it first and at once. An event reports a committed change and never asks for an action.
 */
export class Events {
  readonly #listeners = new Map<string, Set<(payload: never) => unknown>>()
  readonly #bus: Bus
  readonly #log: FastifyBaseLogger
  readonly #node: string

  /** @param node a name of this process, so that its own events coming back over the bus are known */
  constructor(bus: Bus, log: FastifyBaseLogger, node: string) {
    this.#bus = bus
    this.#log = log
    this.#node = node
  }

  /** Begins to hear other nodes. @throws BusUnavailable */
  async start(): Promise<void> {
    await this.#bus.subscribe(CHANNEL, (message) => {
      const event = parse(message)
      if (!event) this.#log.error({ size: message.length }, 'the bus carried a message that is no event')
      else if (event.node !== this.#node) this.#deliver(event.name, event.payload)
    })
  }

  /** Hears an event from now until the process ends. Listeners run side by side: none waits for another. */
  on<Name extends keyof DomainEvents & string>(name: Name, listener: Listener<Name>): void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
  }

  /** Tells everyone. A bus that is down is logged, not thrown: what happened has happened. */
  async emit<Name extends keyof DomainEvents & string>(name: Name, payload: DomainEvents[Name]): Promise<void> {
    this.#deliver(name, payload as never)
    try {
      await this.#bus.publish(CHANNEL, JSON.stringify({ node: this.#node, name, payload }))
    } catch (error) {
      this.#log.error({ err: error, event: name }, 'an event could not be sent to other nodes')
    }
  }

  #deliver(name: string, payload: unknown): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      Promise.try(listener as (payload: unknown) => unknown, payload).catch((error) =>
        this.#log.error({ err: error, event: name }, 'a listener of an event failed'),
      )
    }
  }
}

/** Another node may run another version, and the bus may be shared with strangers: what comes is checked. */
function parse(message: string): { node: string; name: string; payload: unknown } | null {
  try {
    const event = JSON.parse(message)
    return typeof event?.node === 'string' && typeof event.name === 'string' ? event : null
  } catch {
    return null
  }
}
