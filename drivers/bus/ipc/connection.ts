import { connect, type Socket } from 'node:net'
import { BusUnavailable } from '../interface.ts'
import { BatchedSocket } from './batched-socket.ts'
import { encode, FrameReader, KIND } from './frames.ts'

/** Timeout of an operation. */
const ANSWER_MS = 1000
/** A connection that is silent for longer than this, although it sends pings, is dead: it is closed and reopened. */
const SILENCE_MS = 4000
const CHECK_MS = 250
const PING_MS = 1000

interface Question {
  askedAt: number
  resolve(body: Buffer): void
  reject(error: unknown): void
}

/** One connection to the hub. */
export class Connection {
  /** Settles when the hub answers no further questions: it ends, or the connection has ended. */
  readonly left: Promise<void>
  readonly #client: BatchedSocket
  readonly #questions = new Map<number, Question>()
  readonly #deliver: (channel: string, message: string) => void
  readonly #timer: NodeJS.Timeout
  #asked = 0
  #heardAt = performance.now()
  #pingedAt = 0
  #checkedAt = performance.now()
  /** Whether an answer is late. Until the hub says something, whatever is asked fails at once. */
  #overdue = false
  #leave!: () => void

  /** @throws when nobody listens there */
  static open(path: string, deliver: (channel: string, message: string) => void): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(path)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Connection(socket, deliver))
      })
    })
  }

  private constructor(socket: Socket, deliver: (channel: string, message: string) => void) {
    this.#client = new BatchedSocket(socket)
    this.#deliver = deliver
    this.left = new Promise((resolve) => {
      this.#leave = resolve
    })
    const reader = new FrameReader()
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      this.#heardAt = performance.now()
      this.#overdue = false
      try {
        reader.read(chunk as Buffer, ({ kind, id, channel, body }) => {
          if (kind === KIND.publish) this.#deliver(channel, body.toString())
          else if (kind === KIND.result) this.#settle(id, body)
          else if (kind === KIND.goodbye) {
            this.#client.end()
            this.#leave()
          }
        })
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.once('close', () => {
      clearInterval(this.#timer)
      this.#rejectAll()
      this.#leave()
    })
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref()
  }

  /** Asks the hub, and resolves with the body of its answer. @throws BusUnavailable within about a second */
  ask(kind: number, channel: string, body?: Buffer): Promise<Buffer> {
    const { socket } = this.#client
    if (this.#overdue || !socket.writable) return Promise.reject(new BusUnavailable())
    return this.#question(kind, channel, body)
  }

  close(): void {
    this.#client.socket.destroy()
    this.#rejectAll()
  }

  #question(kind: number, channel: string, body?: Buffer): Promise<Buffer> {
    this.#asked = (this.#asked % 0xffff_ffff) + 1
    const id = this.#asked
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { askedAt: performance.now(), resolve, reject })
      this.#client.send(encode(kind, id, channel, body))
    })
  }

  #settle(id: number, body: Buffer): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    question?.resolve(body)
  }

  #check(): void {
    const now = performance.now()
    // This process has been busy itself, and reads what has come meanwhile only after this timer.
    const busy = now - this.#checkedAt > 2 * CHECK_MS
    this.#checkedAt = now
    if (busy) return
    // The first question is the oldest.
    const [oldest] = this.#questions.values()
    if (oldest && now - oldest.askedAt > ANSWER_MS) {
      this.#overdue = true
      this.#rejectAll()
    }
    if (now - this.#heardAt > SILENCE_MS) this.#client.socket.destroy()
    else if (now - Math.max(this.#heardAt, this.#pingedAt) > PING_MS) {
      this.#pingedAt = now
      this.#question(KIND.call, '', Buffer.from('["ping"]')).catch(() => {})
    }
  }

  #rejectAll(): void {
    const questions = [...this.#questions.values()]
    this.#questions.clear()
    for (const { reject } of questions) reject(new BusUnavailable())
  }
}
