// Long JSON bodies are read as Fastify reads them, without a copy of the whole at the end.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import t from 'tap'
import { parseJsonBy } from '../../../../core/http/limits/long-json.ts'

const LIMIT = 1_000_000

t.test('a body is read with its length announced, in chunks, or not at all', async (t) => {
  const app = Fastify({ bodyLimit: LIMIT })
  t.teardown(() => app.close())
  parseJsonBy(app, async (body, parse) => parse(body.toString()))
  const failures: (string | undefined)[] = []
  app.addHook('onError', async (_request, _reply, error) => void failures.push(error.code))
  app.post('/', async ({ body }) => ({ body: body === undefined ? 'none' : body }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const send = async (pieces: readonly string[], headers: Record<string, string | number> = {}) => {
    const outgoing = request({ port, method: 'POST', headers: { 'content-type': 'application/json', ...headers } })
    outgoing.on('error', () => {})
    for (const piece of pieces) outgoing.write(piece)
    outgoing.end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: JSON.parse(await text(answer)) }
  }
  const long = ['"', ...Array.from({ length: 30 }, (_, at) => `${at}`.padStart(10_000, `${'の'.repeat(2)}x`)), '"']
  const whole = JSON.parse(long.join(''))
  const length = { 'content-length': Buffer.byteLength(long.join('')) }
  t.same(await send(long, length), { status: 200, body: { body: whole } }, 'announced')
  t.same(await send(long), { status: 200, body: { body: whole } }, 'in chunks')
  t.same(await send(['{"a":', '1}']), { status: 200, body: { body: { a: 1 } } }, 'a short one in chunks')
  t.same(await send([], { 'content-length': 0 }), { status: 200, body: { body: 'none' } })
  t.match(await send(['{']), { status: 400 }, 'no JSON')
  const tooLong = ['"', 'x'.repeat(LIMIT), '"']
  t.match(await send(tooLong, { 'content-length': LIMIT + 2 }), { status: 413 })
  t.match(await send(tooLong), { status: 413 }, 'also in chunks, where it shows as it comes')
  t.same(failures.slice(-2), ['FST_ERR_CTP_BODY_TOO_LARGE', 'FST_ERR_CTP_BODY_TOO_LARGE'])

  const cut = request({ port, method: 'POST', headers: { 'content-type': 'application/json', ...length } })
  cut.on('error', () => {})
  cut.write(long[1])
  await once(app.server, 'request')
  cut.destroy()
  t.same(await send(['1']), { status: 200, body: { body: 1 } }, 'a broken connection harms no other')
})
