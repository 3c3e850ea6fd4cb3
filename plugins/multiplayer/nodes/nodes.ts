import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../../../core/events.ts'
import { randomText } from '../../../core/ids.ts'
import type { NodeMessage, Parcel } from './messages.ts'

/** How long a node's leases outlive its last sign of life; the next owner of its rooms begins after that. */
const LIFE_MS = 2500
const SIGN_MS = 500
/** A node that was not heard of for so long is taken for dead. */
const SILENCE_MS = 2500
const ANSWER_MS = 700
/** Well below what the bus carries in one message. */
const PARCEL_BYTES = 256 * 1024
const EVERYONE = 'rooms'

type Question = Extract<NodeMessage, { t: 'mayEnter' | 'list' }>
type Answer = Extract<NodeMessage, { t: 'verdict' | 'rooms' }>
/** A question still without its number. */
type Asked<T = Question> = T extends Question ? Omit<T, 'ask'> : never

interface Peer {
  heardAt: number
  /** Number of the next parcel from there and to there. */
  incoming: number | null
  outgoing: number
  queue: NodeMessage[]
  bytes: number
}

/** What a node does with what it hears. */
export interface NodeListener {
  hear(from: string, message: Exclude<NodeMessage, Answer>): void
  /** A node is gone, or something between it and this one was lost: what was under way with it is void. */
  broken(node: string): void
}

/**
 * The nodes that run rooms on one bus: who is there, and messages between them, in order and without gaps until the
 * other end is told that it is broken.
 */
export class Nodes {
  readonly id = randomText(9)
  /** Whether the last sign of life had come too late: what this node held, others may have. */
  lapsed = false
  readonly #bus: Bus
  readonly #log: FastifyBaseLogger
  readonly #listener: NodeListener
  readonly #peers = new Map<string, Peer>()
  readonly #questions = new Map<number, (answer: Answer | null) => void>()
  #asked = 0
  #validUntil = 0
  #timer: NodeJS.Timeout | undefined
  #isFlushing = false

  constructor(bus: Bus, log: FastifyBaseLogger, listener: NodeListener) {
    this.#bus = bus
    this.#log = log
    this.#listener = listener
  }

  /** @throws BusUnavailable */
  async start(): Promise<void> {
    await this.#bus.subscribe(`${EVERYONE}/${this.id}`, (text) => this.#receive(text))
    await this.#bus.subscribe(EVERYONE, (text) => this.#hearOf(text))
    await this.#live()
    this.lapsed = false
    this.#timer = setInterval(() => void this.#tick(), SIGN_MS)
  }

  /** Says good-bye: what this node held is free at once. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#validUntil = 0
    await this.#bus.keepAlive(this.id, 1).catch(() => {})
    await this.#bus.publish(EVERYONE, JSON.stringify({ from: this.id, bye: true })).catch(() => {})
  }

  /** Whether this node's leases are surely its own. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil && !this.lapsed
  }

  /** The others. */
  get peers(): string[] {
    return [...this.#peers.keys()]
  }

  send(node: string, message: NodeMessage): void {
    const peer = this.#peer(node)
    peer.queue.push(message)
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => this.#flush())
  }

  /** Frames for a socket of another node; the same frames for several sockets travel once. */
  write(node: string, conn: string, frames: Buffer): void {
    const last = this.#peer(node).queue.at(-1)
    if (last?.t === 'write' && this.#lastFrames === frames) last.to.push(conn)
    else this.send(node, { t: 'write', to: [conn], frames: frames.toString('base64') })
    this.#lastFrames = frames
  }
  #lastFrames: Buffer | null = null

  /** Asks a node. Null when it does not answer in time. */
  ask<Kind extends Answer['t']>(node: string, question: Asked): Promise<Extract<Answer, { t: Kind }> | null> {
    const ask = ++this.#asked
    return new Promise((resolve) => {
      const answered = (answer: Answer | null) => {
        clearTimeout(timeout)
        this.#questions.delete(ask)
        resolve(answer as Extract<Answer, { t: Kind }> | null)
      }
      const timeout = setTimeout(answered, ANSWER_MS, null)
      this.#questions.set(ask, answered)
      this.send(node, { ...question, ask } as Question)
    })
  }

  async #tick(): Promise<void> {
    const now = performance.now()
    for (const [node, { heardAt }] of this.#peers) if (now - heardAt > SILENCE_MS) this.#drop(node)
    try {
      await this.#live()
    } catch (error) {
      this.#log.debug({ err: error }, 'the bus did not hear that this node lives')
    }
  }

  async #live(): Promise<void> {
    const asked = performance.now()
    if (!(await this.#bus.keepAlive(this.id, LIFE_MS))) this.lapsed = true
    this.#validUntil = asked + LIFE_MS
    await this.#bus.publish(EVERYONE, JSON.stringify({ from: this.id }))
  }

  #hearOf(text: string): void {
    const { from, bye } = JSON.parse(text)
    if (from === this.id) return
    if (bye) this.#drop(from)
    else this.#peer(from).heardAt = performance.now()
  }

  #receive(text: string): void {
    const { from, n, messages } = JSON.parse(text) as Parcel
    const peer = this.#peer(from)
    peer.heardAt = performance.now()
    if (peer.incoming !== null && n !== peer.incoming) this.#listener.broken(from)
    peer.incoming = n + 1
    for (const message of messages) {
      if (message.t === 'verdict' || message.t === 'rooms') this.#questions.get(message.ask)?.(message)
      else this.#listener.hear(from, message)
    }
  }

  #peer(node: string): Peer {
    const known = this.#peers.get(node)
    if (known) return known
    const peer = { heardAt: performance.now(), incoming: null, outgoing: 1, queue: [], bytes: 0 }
    this.#peers.set(node, peer)
    return peer
  }

  #drop(node: string): void {
    if (!this.#peers.delete(node)) return
    this.#log.info({ node }, 'a node is gone')
    this.#listener.broken(node)
  }

  #flush(): void {
    this.#isFlushing = false
    this.#lastFrames = null
    for (const [node, peer] of this.#peers) {
      while (peer.queue.length > 0) this.#post(node, peer, takeParcel(peer.queue))
    }
  }

  #post(node: string, peer: Peer, messages: NodeMessage[]): void {
    const parcel: Parcel = { from: this.id, n: peer.outgoing++, messages }
    this.#bus.publish(`${EVERYONE}/${node}`, JSON.stringify(parcel)).catch((error) => {
      this.#log.warn({ err: error, node }, 'messages to a node were lost')
      this.#listener.broken(node)
    })
  }
}

/** The first messages of a queue, as many as one message of the bus carries well. */
function takeParcel(queue: NodeMessage[]): NodeMessage[] {
  let bytes = 0
  let count = 0
  while (count < queue.length && bytes < PARCEL_BYTES) {
    const message = queue[count++] as NodeMessage
    bytes += 64
    if (message.t === 'write') bytes += message.frames.length + message.to.length * 8
    else if (message.t === 'bytes') bytes += message.bytes.length
    else if (message.t === 'text') bytes += message.text.length
  }
  return queue.splice(0, count)
}
