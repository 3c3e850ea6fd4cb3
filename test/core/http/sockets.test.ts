// Tests the defaults of libraries that only a real socket shows: time limits, Host, upgrades, stopping.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'
import { until } from '../../kit/until.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The number of started requests. */
    begun: { count: number }
  }
}

const slow = definePlugin({ name: 'slow' }, async (app) => {
  const options = { config: { auth: 'none' as const }, constraints: { origin: 'portal' } }
  app.decorate('begun', { count: 0 })
  app.addHook('onRequest', async () => void app.begun.count++)
  app.get('/quick', options, async () => 'quick')
  app.get('/hangs', options, () => new Promise(() => {}))
  app.post('/takes', options, async (request) => request.body)
})

async function listening(
  t: Test,
  config: Record<string, unknown> = {},
): Promise<{ app: FastifyInstance; port: number }> {
  const app = await startKernel(t, { plugins: [slow], config })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, port: (app.server.address() as { port: number }).port }
}

/**
 * Opens a connection, writes, and collects the answer until the connection is closed.
 *
 * @param allowHalfOpen the client keeps sending after the server has closed its side, like curl and browsers
 */
async function talk(
  port: number,
  text: string,
  allowHalfOpen = false,
): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen })
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.write(text)
  return { socket, answer: new Promise((done) => socket.once('close', () => done(received))) }
}

t.test('two Host headers are refused, whichever comes first', async (t) => {
  const { port } = await listening(t)
  for (const hosts of [
    ['localhost:8080', 'evil.test'],
    ['evil.test', 'localhost:8080'],
    ['localhost:8080', 'localhost:8080'],
  ]) {
    const lines = hosts.map((host) => `Host: ${host}\r\n`).join('')
    const { answer } = await talk(port, `GET /quick HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`)
    t.match(await answer, /^HTTP\/1.1 400 /, hosts.join(' + '))
  }
})

t.test('who is refused while still sending can go on for a while, and gets the answer', async (t) => {
  const { port } = await listening(t)
  const head = 'POST /takes HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n'
  const { socket, answer } = await talk(port, `${head}Content-Length: 5000000000\r\n\r\n{`, true)
  const errors: unknown[] = []
  socket.on('error', ({ message }) => errors.push(message))
  await once(socket, 'data')
  // The total is larger than the system's buffers. It takes part of the five seconds that the server grants.
  const million = Buffer.alloc(1024 * 1024, ' ')
  for (let sent = 0; sent < 12 && !socket.destroyed; sent++) {
    if (!socket.write(million)) await Promise.race([once(socket, 'drain'), answer])
  }
  socket.end()
  t.match(await answer, /^HTTP\/1.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*"code":"payload_too_large"/i)
  t.same(errors, [], 'the connection is not reset')
})

t.jobs = 8
t.test('a request that never ends its headers is closed, and does not hold up others', async (t) => {
  const { port } = await listening(t)
  const { socket, answer } = await talk(port, 'GET /quick HTTP/1.1\r\nHost: localhost:8080\r\nX-Slow: ')
  const trickle = setInterval(() => socket.write('x'), 500)
  t.teardown(() => clearInterval(trickle))
  const quick = await talk(port, 'GET /quick HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n')
  t.match(await quick.answer, /quick$/)
  t.match(await answer, /^HTTP\/1.1 408 /)
})

t.test('a body that never ends is closed', async (t) => {
  const { port } = await listening(t)
  const head = 'POST /takes HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n'
  const { socket, answer } = await talk(port, `${head}Content-Length: 1000\r\n\r\n{`)
  const trickle = setInterval(() => socket.write(' '), 500)
  t.teardown(() => clearInterval(trickle))
  t.match(await answer, /^HTTP\/1.1 408 /)
})

t.test('who is refused and never stops sending is cut off', async (t) => {
  const { port } = await listening(t)
  const head = 'POST /takes HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n'
  const { socket, answer } = await talk(port, `${head}Content-Length: 5000000000\r\n\r\n{`, true)
  const trickle = setInterval(() => socket.write(' '), 100)
  t.teardown(() => clearInterval(trickle))
  t.match(await answer, /^HTTP\/1.1 413 /)
})

t.test('a small body that nobody reads costs no connection', async (t) => {
  const { port } = await listening(t)
  const body = `Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello`
  const { socket, answer } = await talk(port, `POST /takes HTTP/1.1\r\nHost: localhost:8080\r\n${body}`)
  await once(socket, 'data')
  socket.write('GET /quick HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n')
  t.match(await answer, /^HTTP\/1.1 4\d\d [\s\S]*HTTP\/1.1 200 OK[\s\S]*quick$/)
})

t.test('a route that is no WebSocket refuses to be upgraded', async (t) => {
  const { port } = await listening(t)
  const { socket } = await talk(
    port,
    'GET /quick HTTP/1.1\r\nHost: localhost:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  t.teardown(() => socket.destroy())
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1.1 /)
  t.notMatch(String(answer), /101 Switching/)
})

t.test('a stop ends although a handler hangs and an upload trickles', async (t) => {
  const { app, port } = await listening(t, { limits: { shutdownSeconds: 2 } })
  const hanging = await talk(port, 'GET /hangs HTTP/1.1\r\nHost: localhost:8080\r\n\r\n')
  const upload = await talk(
    port,
    'POST /takes HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
  )
  const idle = await talk(port, '')
  await until(() => app.begun.count === 2)
  await app.close()
  await Promise.all([hanging.answer, upload.answer, idle.answer])
})

t.test('a stop lets a request finish that is nearly done', async (t) => {
  const { app, port } = await listening(t)
  const { socket, answer } = await talk(
    port,
    'POST /takes HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a"',
  )
  await until(() => app.begun.count === 1)
  const closed = app.close()
  await sleep(100) // A stop that does not wait would end the request within this time.
  socket.write(':1}')
  t.match(await answer, /{"a":1}$/)
  await closed
})

t.test('readiness turns away before the process stops', async (t) => {
  const { app } = await listening(t)
  app.health.draining = true
  const answer = await app.inject({ url: '/readyz' })
  t.match(answer, { statusCode: 503 })
  t.match(answer.json(), { status: 'draining' })
})
