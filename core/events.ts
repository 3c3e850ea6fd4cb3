import type { FastifyBaseLogger } from 'fastify'

/**
 * What nodes share beyond the database: messages, counters, and leases with what their holders keep. The family `bus`.
 *
 * `publish` reaches every subscriber on every node, the sender's own included, at most once and in the order in which
 * one node published on one channel. A node that is cut off misses messages: whoever caches must bound the age of what
 * it keeps (contracts, section 4: 5 s). Channels, keys and messages are any text, a message up to 1 MiB.
 *
 * Every method may throw `BusUnavailable` (drivers/bus/interface.ts): within a second or so while the server is away,
 * and at once after `close`. Nothing is kept to be sent later. A subscription outlives an outage.
 */
export interface Bus {
  /** Whether other nodes can be on it. Where none can, leases are always to be had. */
  readonly shared: boolean
  publish(channel: string, message: string): Promise<void>
  /**
   * Resolves once messages published from now on arrive; the result ends the subscription, and may be called again. A
   * listener that throws is logged and disturbs no other.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>
  /**
   * Adds one to a counter that disappears `windowMs` after its first increment.
   *
   * @returns the count within the window, this one included, and the milliseconds until it ends
   */
  increment(key: string, windowMs: number): Promise<{ count: number; resetMs: number }>
  /**
   * Says that a holder of leases lives: for `ttlMs` from now, all that it holds is its own.
   *
   * @returns whether it was alive before; when not, another may have what it held
   */
  keepAlive(holder: string, ttlMs: number): Promise<boolean>
  /**
   * Takes a lease, unless another living holder has it.
   *
   * @returns the lease as it now stands; a lease taken anew has a greater `fence` than any before
   */
  acquire(key: string, holder: string): Promise<Lease>
  /** Gives a lease back, if it is the holder's, and forgets what was saved under its key. */
  release(key: string, holder: string): Promise<void>
  /**
   * Keeps a text under a key for `ttlMs`, in place of what was there.
   *
   * @param fence of the caller's lease  @returns false when one with a greater fence has saved: the lease is lost
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
 * Typed domain events: "a deploy went live". Every listener on every node hears every event, the emitting node first
 * and at once. An event tells what has happened and is committed; it never asks for something to be done.
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
