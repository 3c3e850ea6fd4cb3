import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../../core/events.ts'
import { randomText } from '../../../core/ids.ts'
import type { Envelope, NodeMessage } from './messages.ts'

/** The lifetime of a node's leases after its last heartbeat. The next owner of its rooms starts after that. */
const LEASE_MS = 2500
const HEARTBEAT_MS = 500
/** The time without heartbeats after which a node counts as failed. */
const SILENCE_MS = 2500
const ANSWER_MS = 700
/**
 * The most characters of an envelope's messages. A character of JSON has at most three bytes, so an envelope stays below
 * the limit of the bus for one message, 1 MiB.
 */
const ENVELOPE_CHARACTERS = 256 * 1024
/** The characters of a part. As a text in JSON, quotes and backslashes count twice. */
const PART_CHARACTERS = ENVELOPE_CHARACTERS / 2 - 64
const EVERYONE = 'rooms'

type Question = Extract<NodeMessage, { t: 'mayEnter' | 'list' }>
type Answer = Extract<NodeMessage, { t: 'verdict' | 'rooms' }>
type Part = Extract<NodeMessage, { t: 'part' }>
/** A question before it has a number. */
type Asked<T = Question> = T extends Question ? Omit<T, 'ask'> : never

interface Peer {
  heardAt: number
  /** The number of the next envelope from this node and to it. */
  incoming: number | null
  outgoing: number
  queue: NodeMessage[]
  /** The frames of the last `write` in the queue. */
  lastFrames: Buffer | null
  /** The parts of a message that is not complete yet. */
  parts: string[]
}

/** Receives messages of other nodes. */
export interface PeerListener {
  receive(from: string, message: Exclude<NodeMessage, Answer | Part>): void
  /** Handles a failed node, or lost messages between it and this one. Pending operations with it will not complete. */
  disconnected(node: string): void
}

/**
 * The nodes that run rooms on one bus: cluster membership, and messages between nodes. Messages arrive in order and
 * without gaps, or the listener is told of a disconnection.
 */
export class Peers {
  readonly id = randomText(9)
  /** Whether the last heartbeat was too late, so that other nodes may hold this node's leases. */
  lapsed = false
  readonly #bus: Bus
  readonly #log: FastifyBaseLogger
  readonly #listener: PeerListener
  readonly #peers = new Map<string, Peer>()
  readonly #questions = new Map<number, { node: string; answered: (answer: Answer | null) => void }>()
  #asked = 0
  #validUntil = 0
  #tickedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isFlushing = false

  constructor(bus: Bus, log: FastifyBaseLogger, listener: PeerListener) {
    this.#bus = bus
    this.#log = log
    this.#listener = listener
  }

  /** @throws BusUnavailable */
  async start(): Promise<void> {
    await this.#bus.subscribe(`${EVERYONE}/${this.id}`, (text) => this.#receive(text))
    await this.#bus.subscribe(EVERYONE, (text) => this.#receiveHeartbeat(text))
    await this.#tick()
    this.lapsed = false
    this.#timer = setInterval(() => void this.#tick(), HEARTBEAT_MS)
  }

  /** Leaves the cluster and releases the leases of this node at once. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#validUntil = 0
    await this.#bus.keepAlive(this.id, 1).catch(() => {})
    await this.#bus.publish(EVERYONE, JSON.stringify({ from: this.id, bye: true })).catch(() => {})
  }

  /** Whether this node certainly still holds its leases. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil && !this.lapsed
  }

  /** The ids of the other nodes. */
  get ids(): string[] {
    return [...this.#peers.keys()]
  }

  send(node: string, message: NodeMessage): void {
    const peer = this.#peer(node)
    peer.queue.push(message)
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => this.#flush())
  }

  /** Sends frames to a socket of another node. The same frames for several sockets are sent once. */
  write(node: string, conn: string, frames: Buffer): void {
    const peer = this.#peer(node)
    const last = peer.queue.at(-1)
    if (last?.t === 'write' && peer.lastFrames === frames) last.to.push(conn)
    else this.send(node, { t: 'write', to: [conn], frames: frames.toString('base64') })
    peer.lastFrames = frames
  }

  /** Sends a request to a node. Returns null when it does not answer in time, or is down. */
  ask<Kind extends Answer['t']>(
    node: string,
    question: Asked,
    patienceMs = ANSWER_MS,
  ): Promise<Extract<Answer, { t: Kind }> | null> {
    const ask = ++this.#asked
    return new Promise((resolve) => {
      const answered = (answer: Answer | null) => {
        clearTimeout(timeout)
        this.#questions.delete(ask)
        resolve(answer as Extract<Answer, { t: Kind }> | null)
      }
      const timeout = setTimeout(answered, patienceMs, null)
      this.#questions.set(ask, { node, answered })
      this.send(node, { ...question, ask } as Question)
    })
  }

  async #tick(): Promise<void> {
    const now = performance.now()
    // After a stall of this process its timers run before it reads the heartbeats that have come meanwhile.
    const isLate = now - this.#tickedAt > 2 * HEARTBEAT_MS
    this.#tickedAt = now
    if (!isLate) for (const [node, { heardAt }] of this.#peers) if (now - heardAt > SILENCE_MS) this.#drop(node)
    try {
      await this.#sendHeartbeat()
    } catch (error) {
      this.#log.debug({ err: error }, 'the heartbeat of this node did not reach the bus')
    }
  }

  async #sendHeartbeat(): Promise<void> {
    const asked = performance.now()
    if (!(await this.#bus.keepAlive(this.id, LEASE_MS))) this.lapsed = true
    this.#validUntil = asked + LEASE_MS
    await this.#bus.publish(EVERYONE, JSON.stringify({ from: this.id }))
  }

  #receiveHeartbeat(text: string): void {
    const { from, bye } = JSON.parse(text)
    if (from === this.id) return
    if (bye) this.#drop(from)
    else this.#peer(from).heardAt = performance.now()
  }

  #receive(text: string): void {
    const { from, n, messages } = JSON.parse(text) as Envelope
    const peer = this.#peer(from)
    peer.heardAt = performance.now()
    if (peer.incoming !== null && n !== peer.incoming) {
      peer.parts = []
      this.#disconnected(from)
    }
    peer.incoming = n + 1
    for (const message of messages) this.#take(from, peer, message)
  }

  #take(from: string, peer: Peer, message: NodeMessage): void {
    if (message.t === 'part') {
      peer.parts.push(message.text)
      if (!message.isLast) return
      const text = peer.parts.join('')
      peer.parts = []
      this.#take(from, peer, JSON.parse(text))
    } else if (message.t === 'verdict' || message.t === 'rooms') this.#questions.get(message.ask)?.answered(message)
    else this.#listener.receive(from, message)
  }

  #peer(node: string): Peer {
    const known = this.#peers.get(node)
    if (known) return known
    const peer = { heardAt: performance.now(), incoming: null, outgoing: 1, queue: [], lastFrames: null, parts: [] }
    this.#peers.set(node, peer)
    return peer
  }

  #drop(node: string): void {
    if (!this.#peers.delete(node)) return
    this.#log.info({ node }, 'a node is down')
    this.#disconnected(node)
  }

  /** Forgets what was expected of a node, since messages from it or to it were lost. */
  #disconnected(node: string): void {
    for (const question of this.#questions.values()) if (question.node === node) question.answered(null)
    this.#listener.disconnected(node)
  }

  #flush(): void {
    this.#isFlushing = false
    for (const [node, peer] of this.#peers) {
      peer.lastFrames = null
      const texts = peer.queue.splice(0).flatMap(textsOf)
      while (texts.length > 0) this.#post(node, peer, takeEnvelope(texts))
    }
  }

  /** @param messages JSON */
  #post(node: string, peer: Peer, messages: string[]): void {
    const head: Omit<Envelope, 'messages'> = { from: this.id, n: peer.outgoing++ }
    const envelope = `${JSON.stringify(head).slice(0, -1)},"messages":[${messages.join()}]}`
    this.#bus.publish(`${EVERYONE}/${node}`, envelope).catch((error) => {
      this.#log.warn({ err: error, node }, 'messages to a node were lost')
      this.#disconnected(node)
    })
  }
}

/** Returns a message as JSON, in several parts if it is too long for one envelope. */
function textsOf(message: NodeMessage): string[] {
  const text = JSON.stringify(message)
  if (text.length <= ENVELOPE_CHARACTERS) return [text]
  const parts: string[] = []
  for (let at = 0; at < text.length; at += PART_CHARACTERS) {
    const end = at + PART_CHARACTERS
    parts.push(JSON.stringify({ t: 'part', text: text.slice(at, end), isLast: end >= text.length } satisfies Part))
  }
  return parts
}

/** Takes the first texts of a queue, as many as fit into one envelope. */
function takeEnvelope(queue: string[]): string[] {
  let characters = 0
  let count = 0
  for (; count < queue.length; count++) {
    characters += (queue[count] as string).length + 1
    if (count > 0 && characters > ENVELOPE_CHARACTERS) break
  }
  return queue.splice(0, count)
}
