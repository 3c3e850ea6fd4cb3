// Tests with real sockets a port for each game, for networks without wildcard names.
import { once } from 'node:events'
import { type Agent, request } from 'node:http'
import { connect, createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import t, { type Test } from 'tap'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'
import { startPlatform } from '../../kit/platform.ts'
import { freePort, GAME_PORTS } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { headersOf, signInTo } from '../../plugins/multiplayer/kit.ts'

const arrived = new Set<string>()

/** Waits until an address has been requested. */
const asked = (path: string) => until(() => arrived.delete(path))

const site = definePlugin({ name: 'hello' }, async (app) => {
  const game = { config: { auth: 'none' as const }, constraints: { origin: 'game' } }
  app.get('/which', game, async (request) => {
    const site = app.origins.of(request.raw)
    return site.kind === 'game' ? site.slug : site.kind
  })
  app.addHook('onRequest', async ({ url }) => void arrived.add(url))
  app.get('/slow', game, async () => {
    await sleep(400)
    await app.db.ping()
    return 'done'
  })
  app.get('/hangs', game, () => new Promise(() => {}))
  app.get('/which-portal', { config: { auth: 'none' }, constraints: { origin: 'portal' } }, async () => 'portal')
})

const occupy = async (port: number): Promise<Server> => {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function start(t: Test, config: Record<string, unknown> = {}, log?: Logger) {
  const [own, first, second] = [await freePort(GAME_PORTS), await freePort(GAME_PORTS), await freePort(GAME_PORTS)]
  const app = await startKernel(t, {
    plugins: [site],
    ...(log ? { log } : {}),
    config: {
      listen: { host: '127.0.0.1', port: own },
      portal: { url: `http://gameyard.test:${own}` },
      games: { origins: 'port' },
      ...config,
    },
  })
  return { app, own, first, second }
}

async function listen(app: FastifyInstance, port: number): Promise<void> {
  await app.listen({ host: '127.0.0.1', port })
  await app.gamePorts.listen()
}

interface Answer {
  status: number
  text: string
}

/** Sends a request to a port of this machine with the given Host. */
function ask(port: number, path: string, host = `gameyard.test:${port}`, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', path, headers: { host }, ...(agent ? { agent } : {}) })
    outgoing.on('error', reject)
    outgoing.on('response', async (incoming) => {
      const chunks = await incoming.toArray().catch(reject)
      resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks ?? []).toString() })
    })
    outgoing.end()
  })
}

t.test('each game answers at its own port, and the Host decides which game is meant', async (t) => {
  const { app, own, first, second } = await start(t)
  await app.gamePorts.assign('pong', first)
  await listen(app, own)
  await app.gamePorts.assign('snake', second)
  t.equal((await ask(first, '/which')).text, 'pong', 'one that had its port before the start')
  t.equal((await ask(second, '/which')).text, 'snake', 'one that came while the server ran')
  t.equal((await ask(own, '/which-portal')).text, 'portal')
  t.equal(app.origins.game('snake'), `http://gameyard.test:${second}`)

  t.equal((await ask(first, '/which', `gameyard.test:${second}`)).text, 'snake', 'the Host, not the socket')
  t.equal((await ask(second, '/which-portal', `gameyard.test:${own}`)).text, 'portal')
  t.equal((await ask(first, '/which-portal')).status, 404, 'the portal does not answer under the name of a game')
  t.equal((await ask(own, '/which')).status, 404, 'nor a game under the name of the portal')
  t.equal((await ask(first, '/which', `elsewhere.test:${first}`)).status, 421)
  t.equal((await ask(first, '/which', 'gameyard.test:9')).status, 421, 'a port that no game has')

  await app.gamePorts.assign('pong-deluxe', first)
  t.equal((await ask(first, '/which')).text, 'pong-deluxe', 'a game that moved to another slug keeps its port')
})

t.test(
  'a game whose port another program has at the start is named in the log, and served once it is free',
  async (t) => {
    const lines: { msg: string; slug?: string }[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const { app, own, first, second } = await start(t, {}, log)
    const other = await occupy(first)
    await app.gamePorts.assign('pong', first)
    await app.gamePorts.assign('snake', second)
    await listen(app, own)
    t.match(
      lines.find(({ slug }) => slug === 'pong')?.msg,
      new RegExp(`^Port ${first} of the game pong can't be opened \\(EADDRINUSE\\).*The other games are served`),
    )
    t.equal((await ask(second, '/which')).text, 'snake')
    t.equal((await ask(own, '/which-portal')).text, 'portal')
    await app.gamePorts.assign('pong-deluxe', first)
    t.equal(app.origins.game('pong-deluxe'), `http://gameyard.test:${first}`, 'a new slug meanwhile')
    await new Promise((resolve) => other.close(resolve))
    const answer = await until(() => ask(first, '/which').catch(() => null))
    t.equal(answer.text, 'pong-deluxe')
    await until(() => lines.some(({ msg }) => msg === `port ${first} of the game pong-deluxe is open now`))
  },
)

t.test('a stop ends the attempts to open a port', async (t) => {
  const { app, own, first } = await start(t)
  const other = await occupy(first)
  t.teardown(() => other.close())
  await app.gamePorts.assign('pong', first)
  await listen(app, own)
  await app.close()
  t.same(app.gamePorts.servers, [])
})

t.test('a game that comes while the server runs does not get the port of another program', async (t) => {
  const { app, own, first, second } = await start(t)
  const other = await occupy(first)
  t.teardown(() => other.close())
  await listen(app, own)
  await t.rejects(app.gamePorts.assign('pong', first), { name: 'StartupError' })
  t.same(app.origins.gamePorts(), [], 'the port leads nowhere')
  await app.gamePorts.assign('pong', second)
  t.equal((await ask(second, '/which')).text, 'pong', 'another one serves')
})

t.test('a stop ends every port, and lets requests there finish while their ground still stands', async (t) => {
  // A stop that waits for its deadline would not end.
  const { app, own, first, second } = await start(t, { limits: { shutdownSeconds: 86_400 } })
  await app.gamePorts.assign('pong', first)
  await app.gamePorts.assign('snake', second)
  await listen(app, own)
  const slow = ask(first, '/slow')
  await asked('/slow')
  await app.close()
  t.match(await slow, { status: 200, text: 'done' })
  for (const port of [own, first, second])
    await t.rejects(ask(port, '/which'), { code: 'ECONNREFUSED' }, `port ${port}`)
})

t.test('a stop ends although a handler hangs on a game port', async (t) => {
  const { app, own, first } = await start(t, { limits: { shutdownSeconds: 1 } })
  await app.gamePorts.assign('pong', first)
  await listen(app, own)
  const hanging = t.rejects(ask(first, '/hangs'))
  await asked('/hangs')
  await app.close()
  await hanging
})

t.test('without rooms an upgrade on a game port is answered, not left open', async (t) => {
  const { app, own, first } = await start(t)
  await app.gamePorts.assign('pong', first)
  await listen(app, own)
  const socket = connect(first, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(
    `GET /which HTTP/1.1\r\nHost: gameyard.test:${first}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(timeLimit()) })
  t.match(String(answer), /^HTTP\/1.1 400 /)
})

t.test('two games of the platform have an origin each, with sign-in and rooms', async (t) => {
  const platform = await startPlatform(t, { listen: true, config: { games: { origins: 'port' } } })
  const player = await platform.signUp()
  const [pong, snake] = [
    await platform.game(player, { title: 'Pong' }),
    await platform.game(player, { title: 'Snake' }),
  ]
  t.not(pong.url, snake.url)
  t.match(pong.oauth.redirectUri, new RegExp(`^${pong.url}/auth/`))
  for (const game of [pong, snake]) {
    const { host, port, hostname } = new URL(game.url)
    t.equal(hostname, 'localhost')
    const mp = await ask(Number(port), '/mp', host)
    t.match(JSON.parse(mp.text), { enabled: true, rooms: `ws://${host}/mp/rooms/{roomId}` }, host)
    await signInTo(player, host)
    const { default: WebSocket } = await import('ws')
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, { headers: headersOf(player, host) })
    t.teardown(() => socket.terminate())
    const [frame] = await once(socket, 'message', { signal: AbortSignal.timeout(timeLimit()) })
    t.match(JSON.parse(String(frame)), { t: 'welcome' }, `the upgrade passes on at ${host}`)
  }
  const [own, other] = [new URL(pong.url), new URL(snake.url)]
  const token = player.cookiesOf(own.host).get(`gameyard_game_${own.port}`)
  t.ok(token)
  const stolen = { cookie: `gameyard_game_${other.port}=${token}`, host: other.host }
  const { body } = await platform.stranger.get('/auth/service/session', { host: stolen.host, headers: stolen })
  t.same(body, { signedIn: false }, 'a session of one game is none at the other, though cookies do not separate ports')
})
