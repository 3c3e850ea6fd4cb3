// Tests slow and concurrent uploads with real sockets.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { UploadRule } from '../../../core/http/uploads.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'
import { until } from '../../kit/until.ts'

const MiB = 1024 * 1024

const takes = (rule: UploadRule) =>
  definePlugin({ name: 'takes' }, async (app) => {
    app.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
    const options = { config: { auth: 'none' as const, upload: rule }, constraints: { origin: 'portal' } }
    app.put('/takes', options, async ({ raw }) => {
      let bytes = 0
      for await (const chunk of raw) bytes += chunk.length
      return { bytes }
    })
    // The handler simulates a slow storage: it reads nothing for longer than a window, and begins shortly before another
    // one ends.
    app.put('/dawdles', options, async ({ raw }) => {
      await sleep(2998)
      let bytes = 0
      for await (const chunk of raw) bytes += chunk.length
      return { bytes }
    })
  })

async function listening(t: Test, { rule = { maxBytes: MiB }, limits = {} } = {}): Promise<number> {
  const app: FastifyInstance = await startKernel(t, {
    plugins: [takes(rule as UploadRule)],
    config: { limits: { rateLimits: false, uploadWindowSeconds: 1, ...limits } },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as { port: number }).port
}

/** @param headers further lines of the head */
async function upload(t: Test, port: number, bytes: number, path = '/takes', headers = '') {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (chunk) => (received += chunk))
  const answer = new Promise<string>((done) => socket.once('close', () => done(received)))
  socket.write(
    `PUT ${path} HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nContent-Type: application/octet-stream\r\nContent-Length: ${bytes}\r\n${headers}\r\n`,
  )
  return { socket, answer }
}

/** Sends `bytes` bytes every `everyMs` until the connection ends. */
function drip(t: Test, socket: Socket, bytes: number, everyMs: number): void {
  const timer = setInterval(() => {
    if (socket.writable) socket.write(Buffer.alloc(bytes, 'x'))
  }, everyMs)
  t.teardown(() => clearInterval(timer))
  socket.once('close', () => clearInterval(timer))
}

t.jobs = 8

t.test('an upload that drips is answered with 408 after a window', async (t) => {
  const port = await listening(t)
  const { socket, answer } = await upload(t, port, MiB)
  drip(t, socket, 1000, 200)
  t.match(await answer, /^HTTP\/1.1 408 [\s\S]*\{"error":\{"message":"The upload came too slowly."/)
})

t.test('one that keeps the rate has as long as its length takes', async (t) => {
  // It comes several times faster than it has to, and takes a few windows.
  const port = await listening(t, { limits: { uploadBytesPerSecond: 10_000 } })
  const { socket, answer } = await upload(t, port, 300_000)
  drip(t, socket, 15_000, 200)
  t.match(await answer, /^HTTP\/1.1 200 [\s\S]*\{"bytes":300000\}$/)
})

t.test('what we did not read is not held against the sender', async (t) => {
  const port = await listening(t)
  const { socket, answer } = await upload(t, port, MiB, '/dawdles')
  socket.write(Buffer.alloc(MiB))
  t.match(await answer, /^HTTP\/1.1 200 [\s\S]*\{"bytes":1048576\}$/)
})

t.test('an upload has a total time, however it keeps up its windows', async (t) => {
  const port = await listening(t, { rule: { maxBytes: 10_000 }, limits: { uploadBytesPerSecond: 5000 } })
  const { socket, answer } = await upload(t, port, 10_000, '/dawdles')
  socket.write(Buffer.alloc(6000))
  // The limit is one window plus two seconds for the length. Delays of the server itself take most of it.
  t.match(await answer, /^HTTP\/1.1 408 /)
})

t.test('few of one player are under way at a time, and their slowness costs nobody else', async (t) => {
  const port = await listening(t, { limits: { uploadsPerPlayer: 2, uploadWindowSeconds: 3600 } })
  const slow = await Promise.all([1, 2].map(() => upload(t, port, MiB, '/takes', 'Expect: 100-continue\r\n')))
  await Promise.all(slow.map(({ socket }) => once(socket, 'data')))
  const third = await upload(t, port, 10)
  third.socket.write('0123456789')
  t.match(await third.answer, /^HTTP\/1.1 429 [\s\S]*retry-after: \d+[\s\S]*"code":"rate_limited"/i)
  slow[0]?.socket.destroy()
  // A place is free again when the server has noticed that one has gone.
  await until(async () => {
    const fourth = await upload(t, port, 10)
    fourth.socket.write('0123456789')
    return (await fourth.answer).startsWith('HTTP/1.1 200 ')
  })
})

t.test('short bodies are no uploads, unless they take their time', async (t) => {
  const rule = { maxBytes: MiB, shortBytes: 1000 }
  const port = await listening(t, { rule, limits: { uploadsPerPlayer: 2, uploadWindowSeconds: 3600 } })
  const begun = await Promise.all(Array.from({ length: 8 }, () => upload(t, port, 1000)))
  for (const { socket } of begun.slice(0, 4)) socket.write(Buffer.alloc(1000))
  for (const { answer } of begun.slice(0, 4)) t.match(await answer, /^HTTP\/1.1 200 /, 'more than two at once')
  const [third, fourth, ...slow] = begun.slice(4)
  const refused = await Promise.race([third, fourth, ...slow].map((one) => (one as { answer: Promise<string> }).answer))
  t.match(refused, /^HTTP\/1.1 429 [\s\S]*retry-after: \d+[\s\S]*"code":"rate_limited"/i, 'the third after a second')
  const long = await upload(t, port, 1001)
  t.match(await long.answer, /^HTTP\/1.1 429 /, 'two slow ones hold the places')
  const short = await upload(t, port, 1000)
  short.socket.write(Buffer.alloc(1000))
  t.match(await short.answer, /^HTTP\/1.1 200 /, 'which a quick one does not need')
})

t.test('a rule counts whose uploads it says', async (t) => {
  let deploy = 0
  const rule = { maxBytes: MiB, atOnce: 1, countedBy: () => `deploy/${deploy++}` }
  const port = await listening(t, { rule })
  const begun = await Promise.all([1, 2, 3, 4, 5, 6].map(() => upload(t, port, 3)))
  for (const { socket } of begun) socket.write('abc')
  for (const { answer } of begun) t.match(await answer, /^HTTP\/1.1 200 /)
})

t.test('a rule may limit the long bodies of a minute', async (t) => {
  const rule = { maxBytes: MiB, shortBytes: 3, longPerMinute: 2 }
  const port = await listening(t, { rule, limits: { rateLimits: true } })
  const send = async (text: string) => {
    const { socket, answer } = await upload(t, port, text.length)
    socket.write(text)
    return (await answer).slice(9, 12)
  }
  t.same([await send('long'), await send('long'), await send('long'), await send('abc')], ['200', '200', '429', '200'])
})

t.test('a client that goes while its credential is checked keeps no place', async (t) => {
  const checked = Promise.withResolvers<void>()
  const hold = Promise.withResolvers<void>()
  const handled = Promise.withResolvers<void>()
  const late = definePlugin({ name: 'late' }, async (app) => {
    const check = async () => {
      checked.resolve()
      await hold.promise
    }
    const options = { config: { auth: 'none' as const, upload: { maxBytes: MiB } }, constraints: { origin: 'portal' } }
    app.put('/late', { ...options, onRequest: check }, async () => handled.resolve())
  })
  const app = await startKernel(t, {
    plugins: [takes({ maxBytes: MiB }), late],
    config: { limits: { rateLimits: false, uploadsPerPlayer: 1 } },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as { port: number }
  const gone = await upload(t, port, 10, '/late')
  await checked.promise
  gone.socket.destroy()
  const connections = promisify(app.server.getConnections.bind(app.server))
  await until(async () => (await connections()) === 0)
  hold.resolve()
  await handled.promise
  const { socket, answer } = await upload(t, port, 3)
  socket.write('abc')
  t.match(await answer, /^HTTP\/1.1 200 /)
})

t.test('a route that takes uploads without a bound stops the start', async (t) => {
  for (const maxBytes of [0, Number.NaN, Number.POSITIVE_INFINITY, undefined as never]) {
    await t.rejects(startKernel(t, { plugins: [takes({ maxBytes })] }), /PUT \/takes takes uploads without a bound/)
  }
})
