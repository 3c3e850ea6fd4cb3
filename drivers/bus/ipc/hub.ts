import { unlinkSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { FileLock } from '../../../core/data/sharing/file-lock.ts'
import { BusState } from '../state.ts'
import type { Address } from './address.ts'
import { BatchedSocket } from './batched-socket.ts'
import { encode, type Frame, FrameReader, KIND } from './frames.ts'

/** A process that leaves so many bytes untaken has stopped; it is cut off, and connects again when it goes on. */
const BACKLOG_BYTES = 64 * 1024 * 1024

/** The time in which clients end their connections to a hub that ends in order. */
const GOODBYE_MS = 500

const CALLS = new Set(['increment', 'keepAlive', 'acquire', 'release', 'save', 'append', 'load'])

/**
 * The meeting point of the processes of one machine: passes messages on, and has the counters, leases and records.
 *
 * Messages are passed on as they came, without reading them. The hub's state is in memory: a hub that takes over begins
 * with none, as a Redis that has lost its memory does, and the processes that run rooms save them again.
 */
export class Hub {
  readonly #server: Server
  readonly #lock: FileLock | null
  readonly #channels = new Map<string, Set<BatchedSocket>>()
  readonly #clients = new Set<BatchedSocket>()
  readonly #state: BusState

  private constructor(server: Server, lock: FileLock | null, clock: Clock) {
    this.#server = server
    this.#lock = lock
    this.#state = new BusState(clock)
    server.on('connection', (socket) => this.#serve(socket))
  }

  /**
   * Becomes the hub of an address.
   *
   * @returns null while another process is
   * @throws when the address can't be used
   */
  static async open(address: Address, clock: Clock = systemClock): Promise<Hub | null> {
    // The file of a socket outlives its process, and only the holder of the lock may replace it. A named pipe of Windows
    // ends with its process, and has one owner.
    const lock = address.lockFile === null ? null : await FileLock.take(address.lockFile)
    if (address.lockFile !== null && !lock) return null
    const server = createServer()
    try {
      if (lock) removeSocket(address.path)
      const hub = new Hub(server, lock, clock)
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(address.path, resolve)
      })
      return hub
    } catch (error) {
      lock?.release()
      if (!lock && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
      throw error
    }
  }

  /** Answers what has been asked, and ends. Another process can become the hub at once. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#lock?.release()
    for (const client of this.#clients) client.send(encode(KIND.goodbye, 0, ''))
    const late = setTimeout(() => {
      for (const { socket } of this.#clients) socket.destroy()
    }, GOODBYE_MS)
    await closed
    clearTimeout(late)
  }

  #serve(socket: Socket): void {
    const reader = new FrameReader()
    const client = new BatchedSocket(socket)
    const channels = new Set<string>()
    this.#clients.add(client)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      try {
        reader.read(chunk as Buffer, (frame) => this.#answer(client, channels, frame))
      } catch {
        socket.destroy()
      }
    })
    socket.once('close', () => {
      this.#clients.delete(client)
      for (const channel of channels) this.#leave(channel, client)
    })
  }

  #answer(client: BatchedSocket, channels: Set<string>, { kind, id, channel, body }: Frame): void {
    if (kind === KIND.publish) {
      const members = this.#channels.get(channel)
      if (members) {
        const message = encode(KIND.publish, 0, channel, body)
        for (const member of members) {
          if (member.backlog > BACKLOG_BYTES) member.socket.destroy()
          else member.send(message)
        }
      }
      client.send(encode(KIND.result, id, ''))
    } else if (kind === KIND.subscribe) {
      channels.add(channel)
      const members = this.#channels.get(channel) ?? new Set()
      this.#channels.set(channel, members.add(client))
      client.send(encode(KIND.result, id, ''))
    } else if (kind === KIND.unsubscribe) {
      channels.delete(channel)
      this.#leave(channel, client)
      client.send(encode(KIND.result, id, ''))
    } else if (kind === KIND.call) {
      client.send(encode(KIND.result, id, '', Buffer.from(JSON.stringify(this.#call(JSON.parse(body.toString()))))))
    }
  }

  /** @throws for what is no call */
  #call([method, ...values]: [string, ...unknown[]]): unknown {
    if (method === 'ping') return null
    if (!CALLS.has(method)) throw new Error(`The hub knows no ${method}.`)
    const state = this.#state as unknown as Record<string, (...values: unknown[]) => unknown>
    return state[method]?.(...values) ?? null
  }

  #leave(channel: string, client: BatchedSocket): void {
    const members = this.#channels.get(channel)
    members?.delete(client)
    if (members?.size === 0) this.#channels.delete(channel)
  }
}

function removeSocket(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
