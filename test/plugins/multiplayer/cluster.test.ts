import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { captureLog } from '../../kit/driver-context.ts'
import { startFaultyNetwork } from '../../kit/faulty-network.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { needsRedis, type RedisServer, startRedis } from '../../kit/redis.ts'
import { type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { filesOf } from '../deploy/build.ts'
import { headersOf, RoomSocket, signInTo } from './kit.ts'

const PORTAL = 'localhost:8080'

const portOf = ({ url }: RedisServer) => Number(new URL(url).port)

interface Asked {
  host?: string
  body?: unknown
  headers?: Record<string, string>
}

/** Sends a request to one node under the public name of both. */
async function ask({ port }: Server, method: string, path: string, { host = PORTAL, body, headers = {} }: Asked = {}) {
  const form = body instanceof URLSearchParams
  const isFile = body instanceof Uint8Array
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const payload = form ? body.toString() : isFile ? body : body && JSON.stringify(body)
  const sent = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { host, ...(payload ? { 'content-type': type } : {}), ...headers },
  })
  sent.end(payload || undefined)
  const [response] = await once(sent, 'response')
  const text = Buffer.concat(await response.toArray()).toString()
  const json = String(response.headers['content-type']).includes('json')
  return { status: response.statusCode as number, headers: response.headers, body: json ? JSON.parse(text) : text }
}

/** Returns the first event of a stream of server-sent events. */
async function firstEvent({ port }: Server, path: string, cookie: string): Promise<string> {
  const sent = request({ host: '127.0.0.1', port, path, headers: { host: PORTAL, cookie } }).end()
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response) {
    text += chunk
    if (text.includes('\n\n')) break
  }
  sent.destroy()
  return text
}

interface LogLine {
  text: string
  roomId: string
  level: string
  line: number | null
}

/** Opens the stream of a log at a node. @returns a function that returns its lines so far */
async function follow(t: Test, { port }: Server, path: string, headers: Record<string, string>) {
  const sent = request({ host: '127.0.0.1', port, path, headers: { host: PORTAL, ...headers } }).end()
  t.teardown(() => sent.destroy())
  const [response] = await once(sent, 'response')
  let text = ''
  response.on('error', () => {})
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return (): LogLine[] => {
    const events = text.split('\n\n').slice(0, -1)
    return events.flatMap((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '{}').lines ?? [])
  }
}

/** A player who follows a room and reconnects automatically to any running node, like the published client. */
class Player {
  you = ''
  host = ''
  version = 0
  state: Record<string, unknown> = {}
  /** The data of received messages, in order. */
  readonly received: unknown[] = []
  /** The time of the last welcome. */
  welcomedAt = 0
  /** The number of times that a message was missed and the state started over. */
  anew = 0
  readonly #nodes: Server[]
  readonly #game: string
  #resume = ''
  #sequence = 0
  #socket: WebSocket | null = null
  #over = false
  /** Resolves when the player may reconnect. */
  #absence: Promise<void> = Promise.resolve()

  constructor(t: Test, nodes: Server[], game: string) {
    this.#nodes = nodes
    this.#game = game
    t.teardown(() => {
      this.#over = true
      this.#socket?.terminate()
    })
  }

  /** Enters through a node, or any other that responds. */
  async enter(first: Server, room: string): Promise<this> {
    let node = first
    for (;;) {
      const back = this.#resume ? `?resume=${this.#resume}&received=${this.#sequence}` : ''
      const socket = new WebSocket(`ws://127.0.0.1:${node.port}/mp/rooms/${room}${back}`, {
        headers: { host: this.#game, origin: `http://${this.#game}` },
      })
      socket.on('message', (data: Buffer) => this.#hear(JSON.parse(data.toString())))
      socket.on('error', () => {})
      const before = this.welcomedAt
      const closed = new Promise((resolve) => socket.once('close', resolve))
      await Promise.race([once(socket, 'message'), closed]).catch(() => {})
      if (this.welcomedAt > before) {
        this.#socket = socket
        void closed.then(() => this.#absence).then(() => (this.#over ? null : this.enter(first, room)))
        return this
      }
      if (this.#over) return this
      await sleep(100 + Math.random() * 150)
      node = this.#nodes[(this.#nodes.indexOf(node) + 1) % this.#nodes.length] as Server
    }
  }

  /** Disconnects the player. @returns a function that reconnects, and the number of received frames */
  lose(): { comeBack: () => void; frames: number } {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#absence = promise
    this.#socket?.terminate()
    return { comeBack: resolve, frames: this.#sequence }
  }

  say(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  #hear(frame: any): void {
    if (!['welcome', 'error', 'pong'].includes(frame.t)) this.#sequence++
    if (frame.t === 'welcome') {
      this.welcomedAt = performance.now()
      if (this.#resume && frame.replay === null) this.anew++
      this.you = frame.you
      this.#resume = frame.resume
      this.#sequence = frame.sequence
      if (frame.replay !== null) return
      this.host = frame.room.host
      this.state = frame.state
      this.version = frame.version
    } else if (frame.t === 'msg') this.received.push(frame.data)
    else if (frame.t === 'host') this.host = frame.id
    else if (frame.t === 'state') {
      Object.assign(this.state, frame.set)
      this.version = frame.version
    }
  }
}

/** A script that counts, and continues from its snapshot. */
const COUNTER = `
  let count = 0
  export function join(room, player) {
    if (!room.id.startsWith('slow')) return
    room.log(room.id, 'is asked')
    return new Promise((admit) => room.after(1500, admit))
  }
  export function message(room, player, type) {
    room.send('count', ++count)
    if (type === 'say') room.log(room.id, 'was told', count)
    if (type === 'fail') null.x
  }
  export const snapshot = () => count
  export const restore = (room, data) => { count = data }`

/** Returns the working folder of a node that shares its storage with the others. */
function folderOn(t: Test, blobs: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-node-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'data'))
  symlinkSync(blobs, join(folder, 'data', 'blobs'))
  return folder
}

t.test('rooms over two nodes', { skip: needsPostgres.skip || needsRedis.skip, timeout: timeLimit(400) }, async (t) => {
  const redis = await startRedis(t)
  const config = {
    secret: 'the same on every node, and long enough',
    portal: { url: `http://${PORTAL}` },
    games: { domain: PORTAL },
    database: { driver: 'postgres', url: await (await startPostgres()).database() },
    bus: { driver: 'redis', url: redis.url },
    limits: { rateLimits: false },
  }
  const blobs = mkdtempSync(join(tmpdir(), 'gameyard-blobs-'))
  t.teardown(() => rmSync(blobs, { recursive: true, force: true }))
  const startNode = () => startServer(t, { config, folder: folderOn(t, blobs) })
  const one = await startNode()
  const two = await startNode()
  const nodes = [one, two]

  const origin = `http://${PORTAL}`
  const account = new URLSearchParams({ name: 'Ada', email: 'ada@example.org', password: 'correct yard battery fence' })
  const setUp = await ask(one, 'POST', new URL(one.setupLink as string).pathname, {
    body: account,
    headers: { origin },
  })
  const cookie = String(setUp.headers['set-cookie']?.[0]).split(';')[0] as string
  const made = await ask(two, 'POST', '/api/tokens', {
    body: { label: 'test', scopes: ['games:read', 'games:write', 'deployments:write'] },
    headers: { origin, cookie },
  })
  const headers = { authorization: `Bearer ${made.body.token}` }
  const created = await ask(one, 'POST', '/api/games', { body: { title: 'Duo', description: 'Two dots.' }, headers })
  t.equal(created.status, 201)
  const settings = { multiplayer: { guests: true, hostPatienceSeconds: 600 } }
  t.equal((await ask(one, 'PATCH', `/api/games/${created.body.id}`, { body: { settings }, headers })).status, 200)
  const game = `${created.body.slug}.${PORTAL}`
  const enter = (node: Server, room: string) => new Player(t, nodes, game).enter(node, room)

  const lab = await ask(one, 'POST', '/api/games', { body: { title: 'Lab', description: 'A script.' }, headers })
  await ask(one, 'PATCH', `/api/games/${lab.body.id}`, { body: { settings }, headers })
  const files = { 'index.html': '<title>Lab</title>', 'room.js': COUNTER }
  const announced = { gameId: lab.body.id, files: filesOf(files), room: 'room.js' }
  const deploy = (await ask(one, 'POST', '/api/deploy', { body: announced, headers })).body
  for (const { path, uploadUrl, headers } of deploy.uploads) {
    const body = Buffer.from(files[path as keyof typeof files])
    const { pathname, search } = new URL(uploadUrl)
    t.equal((await ask(one, 'PUT', pathname + search, { body, headers })).status, 204)
  }
  t.equal((await ask(one, 'POST', `/api/deploy/${deploy.deployId}/finalize`, { headers })).status, 200)
  const enterLab = (node: Server, room: string) => new Player(t, nodes, `${lab.body.slug}.${PORTAL}`).enter(node, room)
  const countOf = ({ received }: Player) => (received.at(-1) as number | undefined) ?? 0

  await t.test('a script decides for players of both nodes', async () => {
    const [ada, bob] = [await enterLab(two, 'script'), await enterLab(one, 'script')]
    for (let hit = 0; hit < 5; hit++) {
      for (const player of [ada, bob]) player.say({ t: 'send', type: 'hit', data: hit })
    }
    await until(() => countOf(ada) === 10 && countOf(bob) === 10)
    t.same(ada.received, bob.received)
  })

  await t.test('the log of scripts is whole on both nodes, and is followed on either', async (t) => {
    const logs = `/api/games/${lab.body.id}/logs`
    const streams = await Promise.all(nodes.map((node) => follow(t, node, `${logs}?follow=true`, headers)))
    // The node of the first player runs the room.
    for (const [node, room] of [
      [one, 'left'],
      [two, 'right'],
    ] as const) {
      const player = await enterLab(node, room)
      player.say({ t: 'send', type: 'say' })
      player.say({ t: 'send', type: 'fail' })
    }
    const told = ({ text, roomId, level, line }: LogLine) => [roomId, level, level === 'log' ? text : line]
    const expected = [
      ['left', 'error', 11],
      ['left', 'log', 'left was told 1'],
      ['right', 'error', 11],
      ['right', 'log', 'right was told 1'],
    ]
    for (const stream of streams) {
      await until(() => stream().length >= expected.length)
      t.same(stream().map(told).sort(), expected)
    }
    for (const node of nodes) {
      const { body } = await ask(node, 'GET', logs, { headers })
      t.same(body.lines.map(told).sort(), expected)
    }
  })

  await t.test('a script that takes long to admit a player of another node is asked once', async (t) => {
    const logs = `/api/games/${lab.body.id}/logs`
    const stream = await follow(t, two, `${logs}?follow=true`, headers)
    const texts = () => stream().map(({ text }) => text)
    const [ada, bob] = [await enterLab(one, 'slow'), await enterLab(two, 'slow')]
    t.same([ada.you, bob.you], ['p1', 'p2'])
    bob.say({ t: 'send', type: 'say' })
    await until(() => texts().some((text) => text.startsWith('slow was told')))
    t.equal(texts().filter((text) => text === 'slow is asked').length, 2)
  })

  await t.test('a room spread over both has one order, one host and one list', async (t) => {
    const players = [
      await enter(one, 'spread'),
      await enter(two, 'spread'),
      await enter(two, 'spread'),
      await enter(one, 'spread'),
    ]
    t.equal(new Set(players.map(({ you }) => you)).size, 4)
    for (let round = 0; round < 25; round++) {
      for (const [index, player] of players.entries()) {
        player.say({ t: 'send', type: 'n', data: `${index}:${round}`, to: 'all' })
      }
      players[round % 4]?.say({ t: 'state', set: { round } })
      await sleep(Math.random() * 8)
    }
    await until(() => players.every(({ received }) => received.length === 100))
    for (const player of players.slice(1)) t.same(player.received, players[0]?.received, 'in the same order')
    await until(() => players.every(({ version }) => version === 25))
    t.same(new Set(players.map(({ host }) => host)), new Set([players[0]?.you]))
    for (const node of nodes) {
      const { body } = await ask(node, 'GET', '/mp/rooms', { host: game })
      t.same(body.rooms, [{ id: 'spread', players: 4, capacity: 100, locked: false }])
      const live = await firstEvent(node, `/live/games/${created.body.slug}/rooms`, cookie)
      t.match(live, /spread.*4 of 100/, 'its maker sees all of it from each node')
    }
    for (let index = 0; index < 4; index++) t.equal(players[index]?.anew, 0)
  })

  await t.test('kill -9 of the owner under load: all come back, and nothing acknowledged is lost', async (t) => {
    // The node of the first player owns the room.
    const [ada, bob, eve] = [await enter(one, 'moves'), await enter(two, 'moves'), await enter(one, 'moves')]
    const dan = await enter(two, 'moves')
    let written = 0
    const load = setInterval(() => {
      bob.say({ t: 'state', set: { [`key${written % 50}`]: ++written, last: written } })
      ada.say({ t: 'send', type: 'noise', data: 'x'.repeat(100) })
    }, 20)
    t.teardown(() => clearInterval(load))
    const [leo, mia] = [await enterLab(one, 'moves'), await enterLab(two, 'moves')]
    const hits = setInterval(() => mia.say({ t: 'send', type: 'hit' }), 20)
    t.teardown(() => clearInterval(hits))
    await until(() => bob.version > 50 && countOf(leo) > 0)
    const counted = countOf(mia)
    // The script's state is stored once a second.
    await until(() => countOf(mia) > counted + 100)
    const { comeBack, frames } = dan.lose()
    await until(() => bob.version > 100)
    one.process.kill('SIGKILL')
    const killed = performance.now()
    // Messages received until here were acknowledged.
    await sleep(0)
    const acknowledged = { version: bob.version, last: bob.state.last as number }
    const ids = [ada.you, bob.you, eve.you]
    await until(() => [ada, bob, eve].every(({ welcomedAt }) => welcomedAt > killed))
    t.same([ada.you, bob.you, eve.you], ids, 'as who they were')
    t.equal(bob.host, ada.you, 'with the same host')
    for (const player of [ada, bob, eve]) {
      t.ok(player.version >= acknowledged.version, `version ${player.version} >= ${acknowledged.version}`)
      t.ok((player.state.last as number) >= acknowledged.last)
      t.equal(player.anew, 1, 'and is told that something may be missed')
    }
    // The new owner has by then sent as many frames as the old one. The frames lost in between must not count as
    // received.
    const { version } = bob
    await until(() => [ada, bob, eve].every((player) => player.version > version + frames), 180)
    comeBack()
    await until(() => dan.version > version + frames)
    t.equal(dan.anew, 1, 'whoever was away during the move begins anew')
    await until(() => leo.welcomedAt > killed && mia.welcomedAt > killed)
    mia.received.length = 0
    await until(() => countOf(mia) > 0)
    t.ok((mia.received[0] as number) > counted, `${mia.received[0]} after ${counted}`)
    clearInterval(hits)
    clearInterval(load)
    ada.received.length = bob.received.length = 0
    for (let data = 0; data < 20; data++) eve.say({ t: 'send', type: 'n', data })
    await until(() => [ada, bob, dan].every(({ received }) => received.includes(19)))
    for (const { received } of [ada, bob, dan]) t.same(received.slice(-20), [...Array(20).keys()])
    t.same(dan.state, bob.state)
  })

  await t.test('a node that stops hands its rooms over at once', async (t) => {
    const three = await startNode()
    nodes[0] = three
    const [ada, bob] = [await enter(two, 'handed'), await enter(three, 'handed')]
    ada.say({ t: 'state', set: { a: 1 } })
    await until(() => bob.state.a === 1)
    const [leo, mia] = [await enterLab(two, 'handed'), await enterLab(three, 'handed')]
    for (let hit = 0; hit < 7; hit++) mia.say({ t: 'send', type: 'hit' })
    await until(() => countOf(leo) === 7 && countOf(mia) === 7)
    const stopped = performance.now()
    t.equal(await two.stop(), 0)
    await until(() => [ada, bob].every(({ welcomedAt }) => welcomedAt > stopped))
    t.same([ada.state.a, bob.state.a], [1, 1])
    t.equal(bob.host, ada.you)
    await until(() => [leo, mia].every(({ welcomedAt }) => welcomedAt > stopped))
    leo.say({ t: 'send', type: 'hit' })
    await until(() => countOf(mia) === 8)
  })
})

t.test('a Redis that is away for a moment, and has forgotten everything, costs no room', needsRedis, async (t) => {
  // A room waits for five seconds. A server may take longer to start, so the one that has forgotten everything already
  // runs.
  const [first, forgetful] = [await startRedis(t), await startRedis(t)]
  const network = await startFaultyNetwork(t)
  network.target = portOf(first)
  const config = { bus: { driver: 'redis', url: `redis://127.0.0.1:${network.port}` } }
  const { log, lines } = captureLog()
  const platform = await startPlatform(t, { listen: true, config, log })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const host = platform.gameHost(game.slug)
  await signInTo(owner, host)
  const open = () => new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(owner, host))
  const one = open()
  await one.enter()
  const two = open()
  await two.enter()
  one.say({ t: 'state', set: { score: 1 } })
  t.match(await two.next('state'), { version: 1 })
  network.isRefusing = true
  network.reset()
  one.say({ t: 'state', set: { score: 2 } })
  await until(() => JSON.stringify(lines()).includes('a room is paused'))
  t.equal(two.received.filter(({ t: type }) => type === 'state').length, 0, 'what is not safe is not said')
  network.target = portOf(forgetful)
  network.isRefusing = false
  t.match(await two.next('state'), { set: { score: 2 }, version: 2 })
  t.match((await open().enter()).state, { score: 2 })
  t.equal(one.socket.readyState, one.socket.OPEN, 'the connections were kept')
})
