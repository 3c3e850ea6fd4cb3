// Tests client behaviour that only real sockets show: faulty framing, and bodies and responses that never end.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { openLocalAuthority } from '../../../core/origins/local-authority.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'

const MiB = 1024 * 1024
/** Larger than the system's buffers between two sockets. */
const LARGE = Buffer.alloc(24 * MiB, 'x')

const routes = definePlugin({ name: 'routes' }, async (app) => {
  const options = { config: { auth: 'none' as const }, constraints: { origin: 'portal' } }
  app.fastPath.install('/fast', (request, response) => {
    if (request.url !== '/fast') return false
    response.writeHead(200, { 'content-length': 4 }).end('fast')
    return true
  })
  app.get('/quick', options, async () => 'quick')
  app.get('/later', options, async () => sleep(500, 'later'))
  app.get('/large', options, async (_request, reply) => reply.type('application/octet-stream').send(LARGE))
  app.post('/takes', options, async (request) => request.body)
  app.get('/events', options, async (_request, reply) => {
    let sent = 0
    // The first event is larger than any buffer, so that a client that stops reading leaves data unsent.
    const look = async () => ({ event: 'look', data: 'x'.repeat(sent++ === 0 ? LARGE.length : 1) })
    return app.eventStreams.send(reply, { key: 'events', look, everyMs: 500 })
  })
})

async function listening(
  t: Test,
  limits: Record<string, unknown> = {},
  config: Record<string, unknown> = {},
): Promise<{ app: FastifyInstance; port: number }> {
  const app = await startKernel(t, {
    plugins: [routes],
    config: { ...config, limits: { rateLimits: false, ...limits } },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, port: (app.server.address() as { port: number }).port }
}

interface Talk {
  socket: Socket
  answer: Promise<string>
}

/** Writes a request, and collects the response until the connection closes. */
async function talk(t: Test, port: number, text: string, { reads = true } = {}): Promise<Talk> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let received = ''
  const answer = new Promise<string>((done) => socket.once('close', () => done(received)))
  if (reads) socket.on('data', (chunk) => (received += chunk))
  else socket.pause()
  socket.write(text)
  return { socket, answer }
}

const head = (line: string, ...headers: string[]) =>
  `${[line, 'Host: localhost:8080', ...headers].join('\r\n')}\r\n\r\n`

/** What a connection says that the server should have closed. */
const stillOpen = () => sleep(timeLimit(), 'still open', { ref: false })

/** Returns the status codes of all responses on a connection. */
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

t.jobs = 8

t.test('a transfer coding that is not known gets one 400, and the connection ends', async (t) => {
  const { port } = await listening(t)
  const codings = [
    'xchunked',
    'gzip',
    'gzip, chunked',
    'chunked, chunked',
    'chunked, identity',
    'identity',
    'chunked;a=b',
  ]
  for (const line of ['POST /x HTTP/1.1', 'POST /takes HTTP/1.1', 'GET /fast HTTP/1.1', 'GET /quick HTTP/1.1']) {
    for (const coding of codings) {
      const { answer } = await talk(t, port, `${head(line, `Transfer-Encoding: ${coding}`)}0\r\n\r\n`)
      const text = await Promise.race([answer, stillOpen()])
      t.same(statuses(text), [400], `${line}, ${coding}`)
      t.match(text, /connection: close\r\n/i, `${line}, ${coding}`)
      t.match(text, /\r\n\r\n\{"error":\{"message":"[^"]+","code":"invalid_request"\}\}$/, `${line}, ${coding}`)
    }
  }
  const old = await talk(t, port, `${head('POST /takes HTTP/1.0', 'Transfer-Encoding: chunked')}0\r\n\r\n`)
  t.same(statuses(await old.answer), [400], 'HTTP/1.0 knows no transfer codings')
  const known = ['Content-Type: application/json', 'Connection: close', 'Transfer-Encoding: Chunked']
  const taken = await talk(t, port, `${head('POST /takes HTTP/1.1', ...known)}7\r\n{"a":1}\r\n0\r\n\r\n`)
  t.match(await taken.answer, /^HTTP\/1.1 200 [\s\S]*\{"a":1\}$/)
})

t.test('what is broken behind a request leaves the answer to that request alone', async (t) => {
  const { port } = await listening(t)
  const { answer } = await talk(t, port, `${head('GET /later HTTP/1.1')}NONSENSE\r\n\r\n`)
  const text = await answer
  t.same(statuses(text), [200])
  t.match(text, /later$/)
  const chunked = ['Content-Type: image/x', 'Transfer-Encoding: chunked']
  const refused = await talk(t, port, `${head('POST /takes HTTP/1.1', ...chunked)}5\r\nhello\r\n`)
  await once(refused.socket, 'data')
  refused.socket.write('NONSENSE\r\n')
  t.same(statuses(await refused.answer), [415], 'and a request gets one answer')
  const alone = await talk(t, port, 'NONSENSE\r\n\r\n')
  t.same(statuses(await alone.answer), [400])
})

t.test('a body that drips on after its answer is cut off', async (t) => {
  const { port } = await listening(t)
  for (const line of ['POST /nowhere HTTP/1.1', 'GET /quick HTTP/1.1', 'GET /fast HTTP/1.1']) {
    const { socket, answer } = await talk(t, port, head(line, 'Content-Type: text/x', 'Content-Length: 1000'))
    const drip = setInterval(() => socket.write('x'), 300)
    const text = await Promise.race([answer, stillOpen()])
    clearInterval(drip)
    t.equal(statuses(text).length, 1, `${line} is answered, and closed`)
  }
})

t.test('a reader that never reads its answer is cut off, and so is one that hardly does', async (t) => {
  const { app, port } = await listening(t, { slowReaderSeconds: 3 })
  const begun = performance.now()
  await talk(t, port, head('GET /large HTTP/1.1'), { reads: false })
  const hardly = await talk(t, port, head('GET /large HTTP/1.1'), { reads: false })
  const sip = setInterval(() => hardly.socket.read(16), 200)
  t.teardown(() => clearInterval(sip))
  await until(async () => (await connections(app)) < 2)
  // A busy machine makes it only longer.
  t.ok(performance.now() - begun > 2900, 'not at once')
  await until(async () => (await connections(app)) === 0)
})

t.test('a slow reader that goes on gets all of its answer, over TLS too', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { certificate } = await openLocalAuthority({ dataDir: folder, hosts: ['localhost'] }, { now: () => new Date() })
  for (const name of ['key', 'cert'] as const) writeFileSync(join(folder, name), certificate[name])
  const secure = {
    listen: { tls: { cert: join(folder, 'cert'), key: join(folder, 'key') } },
    portal: { url: 'https://localhost:8080' },
    studio: { url: 'https://localhost:8080' },
  }
  const plain = await listening(t, { slowReaderSeconds: 4 })
  const tls = await listening(t, { slowReaderSeconds: 4 }, secure)
  const sockets = [
    connect({ port: plain.port, host: '127.0.0.1' }),
    connectTls({ port: tls.port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false }),
  ]
  await Promise.all(
    sockets.map(async (socket) => {
      t.teardown(() => socket.destroy())
      socket.write(head('GET /large HTTP/1.1', 'Connection: close'))
      let bytes = 0
      for await (const chunk of socket) {
        bytes += chunk.length
        await sleep(chunk.length / 3000)
      }
      t.ok(bytes > LARGE.length)
    }),
  )
})

t.test('one address has few connections that stand still, and others are not concerned', async (t) => {
  const { app, port } = await listening(t, { slowReaderSeconds: 3600, stalledPerAddress: 2 })
  const begun = performance.now()
  await Promise.all(Array.from({ length: 5 }, () => talk(t, port, head('GET /large HTTP/1.1'), { reads: false })))
  const idle = await talk(t, port, head('GET /quick HTTP/1.1'))
  await once(idle.socket, 'data')
  await until(async () => (await connections(app)) < 6)
  // A busy machine makes it only longer.
  t.ok(performance.now() - begun > 3000, 'not at once')
  await until(async () => (await connections(app)) <= 3)
  idle.socket.write(head('GET /quick HTTP/1.1', 'Connection: close'))
  t.same(statuses(await idle.answer), [200, 200])
  t.equal(await connections(app), 2, 'two of them are left')
})

t.test('an event stream that nobody reads ends, and one that somebody reads, however slowly, does not', async (t) => {
  const { app, port } = await listening(t, { slowReaderSeconds: 2 })
  // These come first, so that they would end first.
  const sips = await talk(t, port, head('GET /events HTTP/1.1'), { reads: false })
  // The system frees receive-buffer space only in whole segments.
  const sip = setInterval(() => sips.socket.read(256 * 1024), 100)
  t.teardown(() => clearInterval(sip))
  await talk(t, port, head('GET /events HTTP/1.1'))
  const begun = performance.now()
  await Promise.all([1, 2, 3].map(() => talk(t, port, head('GET /events HTTP/1.1'), { reads: false })))
  await until(async () => (await connections(app)) <= 2)
  t.equal(await connections(app), 2, 'those that read are left')
  t.ok(performance.now() - begun > 6000, 'and it takes much longer than with any other answer')
})

t.test('event streams that nobody reads for a while are left alone, whatever else stands still', async (t) => {
  const { app, port } = await listening(t, { slowReaderSeconds: 3600, stalledPerAddress: 1 })
  const streams = await Promise.all([1, 2, 3].map(() => talk(t, port, head('GET /events HTTP/1.1'), { reads: false })))
  // One of these ends when both have stood still for long enough. The streams have done so for longer.
  await Promise.all([1, 2].map(() => talk(t, port, head('GET /large HTTP/1.1'), { reads: false })))
  await until(async () => (await connections(app)) < 5)
  for (const { socket } of streams) {
    let bytes = 0
    socket.on('data', (chunk) => (bytes += chunk.length)).resume()
    await until(() => bytes >= LARGE.length || socket.destroyed)
    t.ok(bytes >= LARGE.length)
  }
})

/** Returns the number of connections of a server. It works without reading what the server sent. */
const connections = (app: FastifyInstance) =>
  new Promise<number>((done) => app.server.getConnections((_error, count) => done(count)))
