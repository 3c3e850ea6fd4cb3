import type { FastifyBaseLogger } from 'fastify'

/**
 * State that nodes share beside the database: messages, counters, and leases with the text saved under them. The family
 * `bus`.
 *
 * `publish` reaches every subscriber on every node, the sender's included, at most once and in the order in which one
 * node published on one channel. A disconnected node misses messages, so every cache must bound the age of its entries
 * (5 s). Channels, keys and messages are any text; a message has at most 1 MiB.
 *
 * Every method may throw `BusUnavailable` (drivers/bus/interface.ts): within about a second while the server is away,
 * and at once after `close`. Messages are not queued for later. A subscription survives an outage.
 */
export interface Bus {
  /** Whether other nodes can share the bus. If not, every lease is available. */
  readonly shared: boolean
  /** Whether what is saved is kept while no node runs. Default: false */
  readonly outlivesNodes?: boolean
  publish(channel: string, message: string): Promise<void>
  /**
   * Subscribes to a channel, and resolves once messages published from then on arrive. The result ends the
   * subscription, and may be called repeatedly. A listener that throws is logged and does not affect other listeners.
   */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>
  /**
   * Counts the nodes that have subscribed to a channel and are connected now. A driver without this method can't tell.
   */
  subscribers?(channel: string): Promise<number>
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
  /** Returns a lease if the holder has it, and deletes the text saved under its key. */
  release(key: string, holder: string): Promise<void>
  /**
   * Saves a text under a key for `ttlMs`, replacing the previous one.
   *
   * @param fence of the caller's lease
   * @returns false when a holder with a greater fence has saved: the lease is lost
   */
  save(key: string, fence: number, text: string, ttlMs: number): Promise<boolean>
  /** Appends texts to those saved with exactly this fence, and restarts `ttlMs`. @returns false when there are none */
  append(key: string, fence: number, texts: string[], ttlMs: number): Promise<boolean>
  /** Returns the saved and the appended texts in order; null when there are none. */
  load(key: string): Promise<{ fence: number; texts: string[] } | null>
  /** Rejects when the bus can't be reached; used by /readyz. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The exclusive right to an activity, such as running a room. */
export interface Lease {
  holder: string
  /** Increases with each acquisition. A smaller fence comes from a holder that has lost the lease. */
  fence: number
}

/** The domain events by name. Plugins add their own by declaration merging. Payloads must survive JSON. */
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

  /** @param node name of this process, by which it recognises its own events that come back over the bus */
  constructor(bus: Bus, log: FastifyBaseLogger, node: string) {
    this.#bus = bus
    this.#log = log
    this.#node = node
  }

  /** Starts to receive events of other nodes. @throws BusUnavailable */
  async start(): Promise<void> {
    await this.#bus.subscribe(CHANNEL, (message) => {
      const event = parse(message)
      if (!event) this.#log.error({ size: message.length }, 'the bus carried a message that is no event')
      else if (event.node !== this.#node) this.#deliver(event.name, event.payload)
    })
  }

  /** Adds a listener until the process ends. Listeners run concurrently and do not wait for each other. */
  on<Name extends keyof DomainEvents & string>(name: Name, listener: Listener<Name>): void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
  }

  /**
   * Emits an event to all nodes. A failing bus is logged and not thrown, since the reported change is already
   * committed.
   */
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

/** Validates a message, since another node may run another version, and unrelated programs may share the bus. */
function parse(message: string): { node: string; name: string; payload: unknown } | null {
  try {
    const event = JSON.parse(message)
    return typeof event?.node === 'string' && typeof event.name === 'string' ? event : null
  } catch {
    return null
  }
}
