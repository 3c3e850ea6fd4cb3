import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'
import type { Cluster } from '../kit/cluster.ts'
import { type deployPage, mustAsk } from './cluster-players.ts'

const ROOMS = 2
const PLAYERS = 3
/** Between two writes of a player. A room removes a player who sends more than 60 messages a second. */
const PAUSE_MS = 20

/** Somebody in a room who comes back by itself through the load balancer, as the published client does. */
class Player {
  you = ''
  /** The number that the room's state has. */
  last = 0
  /** How often it came back, and how long that took at the most. */
  readonly back = { times: 0, longestMs: 0 }
  /** What must never be. */
  readonly failures: string[] = []
  readonly #url: string
  readonly #site: URL
  #resume = ''
  #sequence = 0
  #socket: WebSocket | null = null
  #over = false

  constructor(site: string, port: number, room: string) {
    this.#site = new URL(site)
    this.#url = `ws://127.0.0.1:${port}/mp/rooms/${room}`
  }

  /** Enters, and again whenever it is put out. Resolves once it is in. */
  async enter(): Promise<this> {
    const began = performance.now()
    const again = this.you !== ''
    for (let wait = 100; !this.#over; wait = Math.min(wait * 2, 2000)) {
      const place = this.#resume ? `?resume=${this.#resume}&received=${this.#sequence}` : ''
      const socket = new WebSocket(this.#url + place, {
        headers: { host: this.#site.host, origin: this.#site.origin },
      })
      const { promise: welcome, resolve } = Promise.withResolvers<boolean>()
      socket.on('error', () => {})
      socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()), resolve))
      socket.once('close', () => resolve(false))
      if (await welcome) {
        this.#socket = socket
        if (again) {
          this.back.times++
          this.back.longestMs = Math.max(this.back.longestMs, performance.now() - began)
        }
        if (socket.readyState !== WebSocket.OPEN) continue
        socket.once('close', () => void this.enter())
        break
      }
      await sleep(wait)
    }
    return this
  }

  /** Writes a number, again and again until the room has said that it has it. */
  async write(number: number): Promise<void> {
    for (let tries = 0; this.last < number && !this.#over; tries++) {
      if (tries % 50 === 0 && this.#socket?.readyState === WebSocket.OPEN)
        this.#socket.send(JSON.stringify({ t: 'state', set: { last: number } }))
      await sleep(10)
    }
  }

  async leave(): Promise<void> {
    this.#over = true
    const socket = this.#socket
    if (!socket || socket.readyState === WebSocket.CLOSED) return
    const closed = once(socket, 'close')
    socket.terminate()
    await closed
  }

  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  #receive(frame: any, welcomed: (yes: boolean) => void): void {
    if (!['welcome', 'error', 'pong'].includes(frame.t)) this.#sequence++
    if (frame.t === 'state' && frame.set.last !== undefined) this.#know(frame.set.last)
    if (frame.t !== 'welcome') return
    if (this.you !== '' && this.you !== frame.you) this.failures.push(`${this.you} came back as ${frame.you}`)
    this.you = frame.you
    this.#resume = frame.resume
    this.#sequence = frame.sequence
    if (frame.replay === null) this.#know(frame.state.last ?? 0)
    welcomed(true)
  }

  /** What a room has told anybody is never taken back. */
  #know(last: number): void {
    if (last < this.last) this.failures.push(`${this.you} was told ${this.last}, and then ${last}`)
    this.last = last
  }
}

/** Players in rooms, one of each writing all the time, for as long as something befalls the cluster. */
export async function playInRooms(cluster: Cluster, { game, token }: { game: Game; token: string }) {
  const settings = { multiplayer: { guests: true } }
  const headers = { authorization: `Bearer ${token}` }
  await mustAsk('PATCH', `${cluster.portal}/api/games/${game.id}`, { headers, body: { settings } })
  let over = false
  const rooms = Array.from({ length: ROOMS }, (_, room) =>
    Array.from({ length: PLAYERS }, () => new Player(cluster.origin(game.slug), cluster.port, `kept-${room}`)),
  )
  const players = rooms.flat()
  for (const player of players) await player.enter()
  const writing = rooms.map(async ([writer]) => {
    let number = 1
    while (!over) {
      await (writer as Player).write(number++)
      await sleep(PAUSE_MS)
    }
    return number - 1
  })
  return {
    /** @returns what was lost, how many writes there were, and how the players came back */
    async end() {
      over = true
      const written = await Promise.all(writing)
      const deadline = Date.now() + 60_000
      const behind = () =>
        rooms.flatMap((room, index) =>
          room
            .filter(({ last }) => last !== written[index])
            .map(({ you, last }) => `${you} has ${last} of ${written[index]}`),
        )
      while (behind().length > 0 && Date.now() < deadline) await sleep(50)
      const lost = [...behind(), ...players.flatMap(({ failures }) => failures)]
      await Promise.all(players.map((player) => player.leave()))
      const back = players.reduce((sum, { back: { times } }) => sum + times, 0)
      const longestMs = Math.round(Math.max(...players.map(({ back }) => back.longestMs)))
      return { lost, written: written.reduce((sum, count) => sum + count, 0), back, longestMs }
    },
  }
}

type Game = Awaited<ReturnType<typeof deployPage>>['game']
