import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import websocket from '@fastify/websocket'
import t, { type Test } from 'tap'
import { openLocalAuthority } from '../../../../core/origins/local-authority.ts'
import { definePlugin } from '../../../../core/plugin.ts'
import { startKernel } from '../../../kit/kernel.ts'
import { until } from '../../../kit/until.ts'

const MOST = 3
const HEAD = 'Host: localhost:8080\r\n'
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n'

async function listening(t: Test, config: Record<string, unknown> = {}, tls = false) {
  const held: (() => void)[] = []
  const routes = definePlugin({ name: 'routes' }, async (app) => {
    await app.register(websocket)
    const options = { config: { auth: 'none' as const, upgrade: true }, constraints: { origin: 'portal' } }
    app.get('/quick', options, async () => 'quick')
    app.get('/held', options, () => new Promise<string>((done) => held.push(() => done('held'))))
    app.get('/socket', { ...options, websocket: true } as never, (() => {}) as never)
  })
  const app = await startKernel(t, {
    plugins: [routes],
    config: { ...config, limits: { rateLimits: false, connectionsPerAddress: MOST } },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => {
    for (const release of held) release()
  })
  const { port } = app.server.address() as { port: number }
  /** Opens a connection and sends a text. */
  const open = async (text: string) => {
    const options = { port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false }
    const socket: Socket = tls ? connectTls(options) : connect(options)
    t.teardown(() => socket.destroy())
    const talk = { socket, received: '', closed: false }
    socket.on('error', () => {}).on('data', (chunk) => (talk.received += chunk))
    socket.on('close', () => (talk.closed = true))
    socket.write(text)
    await until(() => talk.closed || !socket.connecting)
    return talk
  }
  const quick = async () => {
    const talk = await open(`GET /quick HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`)
    await until(() => talk.closed)
    return talk.received
  }
  return { held, open, quick }
}

async function withTls(t: Test): Promise<Record<string, unknown>> {
  const folder = t.testdir()
  const { certificate } = await openLocalAuthority({ dataDir: folder, hosts: ['localhost'] }, { now: () => new Date() })
  for (const name of ['key', 'cert'] as const) writeFileSync(join(folder, name), certificate[name])
  const url = 'https://localhost:8080'
  return { listen: { tls: { cert: join(folder, 'cert'), key: join(folder, 'key') } }, portal: { url }, studio: { url } }
}

for (const tls of [false, true]) {
  t.test(`a connection too many takes the place of the oldest idle one${tls ? ', over TLS too' : ''}`, async (t) => {
    const { held, open, quick } = await listening(t, tls ? await withTls(t) : {}, tls)
    const pending = await open(`GET /held HTTP/1.1\r\n${HEAD}\r\n`)
    await until(() => held.length === 1)
    const halves = [await open(`GET /quick HTTP/1.1\r\n${HEAD}`), await open(`GET /quick HTTP/1.1\r\n${HEAD}`)]
    t.match(await quick(), /200 OK[\s\S]*quick$/)
    await until(() => halves[0]?.closed)
    t.notOk(halves[1]?.closed, 'only one had to go')

    const more = [await open(`GET /held HTTP/1.1\r\n${HEAD}\r\n`), await open(`GET /held HTTP/1.1\r\n${HEAD}\r\n`)]
    await until(() => held.length === MOST)
    t.ok(halves[1]?.closed)
    t.equal(await quick(), '', 'requests are under way on all of them')
    for (const release of held) release()
    for (const { received } of [pending, ...more]) t.equal(received, '')
    await until(() => [pending, ...more].every(({ received }) => received.endsWith('held')))
    t.match(await quick(), /200 OK[\s\S]*quick$/, 'the answered ones are idle')
  })
}

t.test('a WebSocket is not idle', async (t) => {
  const { open, quick } = await listening(t)
  const sockets = []
  for (let count = 0; count < MOST; count++) {
    const talk = await open(`GET /socket HTTP/1.1\r\n${HEAD}${UPGRADE}\r\n`)
    await until(() => talk.received.includes('101 Switching Protocols'))
    sockets.push(talk)
  }
  t.equal(await quick(), '')
  sockets[0]?.socket.destroy()
  await until(async () => (await quick()).endsWith('quick'))
  t.notOk(sockets[1]?.closed || sockets[2]?.closed)
})

t.test('connections of a trusted proxy are not counted', async (t) => {
  const { held, open, quick } = await listening(t, { trustProxy: ['10.0.0.1', '127.0.0.1'] })
  for (let count = 0; count <= MOST; count++) await open(`GET /held HTTP/1.1\r\n${HEAD}\r\n`)
  await until(() => held.length > MOST)
  t.match(await quick(), /quick$/)
  const other = await listening(t, { trustProxy: '10.0.0.1, 10.0.0.2' })
  for (let count = 0; count < MOST; count++) await other.open(`GET /held HTTP/1.1\r\n${HEAD}\r\n`)
  await until(() => other.held.length === MOST)
  t.equal(await other.quick(), '')
})
