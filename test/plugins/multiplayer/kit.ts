import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import WebSocket, { type ClientOptions } from 'ws'
import type { Link } from '../../../plugins/multiplayer/room/member.ts'
import type { Client, Platform, PlayerClient } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'

/** Signs a player in to a game through the portal. */
export async function signInTo(client: Client, host: string): Promise<void> {
  const path = (url: unknown) => {
    const { pathname, search } = new URL(url as string)
    return pathname + search
  }
  const started = await client.get('/auth/service/start', { host })
  const authorized = await client.get(path(started.headers.location))
  const back = await client.get(path(authorized.headers.location), { host })
  if (back.status !== 302) throw new Error(`The sign-in ended with ${back.status}: ${back.text}`)
}

/** Returns the headers with which a signed-in page opens a room. */
export function headersOf(player: PlayerClient, host: string): Record<string, string> {
  const cookie = [...player.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
  return { host, origin: `http://${host}`, cookie }
}

/** A room socket over the network that records received frames. */
export class RoomSocket {
  readonly socket: WebSocket
  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  readonly received: any[] = []
  readonly closed: Promise<number>

  constructor(t: Test, platform: Platform, path: string, headers: Record<string, string>, options: ClientOptions = {}) {
    const { port } = platform.app.server.address() as { port: number }
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers, ...options })
    this.socket.on('message', (data: Buffer, isBinary) =>
      this.received.push(isBinary ? { t: 'binary', data } : JSON.parse(data.toString())),
    )
    this.socket.on('error', () => {})
    this.closed = once(this.socket, 'close').then(([code]) => code as number)
    t.teardown(() => this.socket.terminate())
  }

  say(message: unknown): void {
    this.socket.send(JSON.stringify(message))
  }

  /** Returns the next frame of a type, and waits for it if necessary. */
  async next(type: string) {
    for (;;) {
      const at = this.received.findIndex((frame) => frame.t === type)
      if (at !== -1) return this.received.splice(at, 1)[0]
      await once(this.socket, 'message', { signal: AbortSignal.timeout(timeLimit()) })
    }
  }

  /** Enters and waits for the welcome. */
  async enter() {
    return this.next('welcome')
  }
}

/** Returns the response to an upgrade: status and JSON body of the refusal, or 101. */
export async function upgrade(
  platform: Platform,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body?: unknown }> {
  const { port } = platform.app.server.address() as { port: number }
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers })
  return new Promise((resolve, reject) => {
    socket.on('open', () => {
      socket.close()
      resolve({ status: 101 })
    })
    socket.on('unexpected-response', async (_request, response: IncomingMessage) => {
      const chunks = await response.toArray()
      resolve({ status: response.statusCode as number, body: JSON.parse(Buffer.concat(chunks).toString() || 'null') })
    })
    socket.on('error', reject)
  })
}

/** Parses the frames in a server's output: text as JSON, bytes with their sender. Throws on an incomplete frame. */
// biome-ignore lint/suspicious/noExplicitAny: frames of any type
export function framesIn(bytes: Buffer): any[] {
  const frames = []
  for (let at = 0; at < bytes.length; ) {
    const opcode = bytes[at] as number
    let length = bytes[at + 1] as number
    at += 2
    if (length === 126) {
      length = bytes.readUInt16BE(at)
      at += 2
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at))
      at += 8
    }
    const payload = bytes.subarray(at, at + length)
    if (payload.length !== length) throw new Error('A frame was cut off.')
    if (opcode === 0x82) {
      frames.push({ t: 'binary', index: payload.readUInt16LE(0), bytes: payload.subarray(2).toString() })
    } else if (opcode === 0x81) frames.push(JSON.parse(payload.toString()))
    else throw new Error(`${opcode} is no frame of ours.`)
    at += length
  }
  return frames
}

/** A client that answers nothing, and records what it is sent. */
export class SilentLink implements Link {
  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  readonly received: any[] = []
  closed: number | null = null

  write(frames: Buffer): void {
    this.received.push(...framesIn(frames))
  }

  close(code: number): void {
    this.closed = code
  }
}
