import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { sendXml } from '../../../core/pages/sitemap.ts'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'
import { until } from '../../kit/until.ts'

const TEXT = 'a line of text, and another one; '.repeat(100)
const decoders: Record<string, (body: Buffer) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
}

const answers = definePlugin({ name: 'answers' }, async (app) => {
  const constraints = { origin: 'portal' }
  const config = { auth: 'none' as const }
  const schema = { response: { 200: Type.Object({ text: Type.String() }) } }
  app.get('/json', { config, constraints, schema }, async () => ({ text: TEXT }))
  app.get('/large', { config, constraints, schema }, async () => ({ text: TEXT.repeat(100) }))
  app.get('/small', { config, constraints, schema }, async () => ({ text: 'x' }))
  app.get('/tagged', { config, constraints, schema }, async (_request, reply) => {
    reply.headers({ etag: '"abc"', vary: 'Origin' })
    return { text: TEXT }
  })
  app.get('/secret', { config, constraints, schema }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { text: TEXT }
  })
  app.get('/never', { config, constraints, schema, compress: false }, async () => ({ text: TEXT }))
  app.get('/page', { config: { ...config, page: true }, constraints }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(`<!doctype html>${TEXT}`),
  )
  app.get('/file', { config, constraints }, async (_request, reply) => reply.type('model/gltf-binary').send(TEXT))
  app.get('/play', { config, constraints: { origin: 'game' }, schema }, async () => ({ text: TEXT }))
  app.get('/events', { config, constraints, schema }, async (_request, reply) =>
    app.eventStreams.send(reply, {
      key: 'x',
      longestMs: 1,
      look: async () => ({ event: 'look', data: TEXT, over: true }),
    }),
  )
})

const started = (t: Test) => startKernel(t, { plugins: [answers] })

async function ask(app: FastifyInstance, url: string, accepted: string | undefined, host = 'localhost:8080') {
  const headers = { host, ...(accepted === undefined ? {} : { 'accept-encoding': accepted }) }
  const { rawPayload, headers: got, statusCode } = await app.inject({ url, headers })
  const coding = String(got['content-encoding'] ?? '')
  const body = coding ? (decoders[coding] as (body: Buffer) => Buffer)(rawPayload) : rawPayload
  return { status: statusCode, headers: got, coding, body: body.toString(), bytes: rawPayload.length }
}

t.test('pages and JSON are compressed as the client takes them', async (t) => {
  const app = await started(t)
  for (const url of ['/json', '/page', '/large']) {
    const plain = await ask(app, url, undefined)
    t.equal(plain.coding, '')
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['gzip;q=0, br;q=0', ''],
      ['identity', ''],
      ['compress', ''],
    ] as const) {
      const answer = await ask(app, url, accepted)
      t.equal(answer.coding, coding, `${url}, ${accepted}`)
      t.equal(answer.body, plain.body)
      t.match(answer.headers.vary, /accept-encoding/)
      if (coding) t.ok(answer.bytes < plain.bytes / 4)
    }
    t.match(plain.headers.vary, /accept-encoding/, 'the plain form says that there are others')
  }
})

t.test('what is small, a file, a stream of events, a game’s or not to be stored is sent as it is', async (t) => {
  const app = await started(t)
  for (const url of ['/small', '/secret', '/never', '/file', '/events']) {
    t.equal((await ask(app, url, 'gzip, br, zstd')).coding, '', url)
  }
  t.equal((await ask(app, '/play', 'gzip, br, zstd', 'pong.localhost:8080')).coding, '', 'a game')
})

t.test('a tag names every form of an answer, so it is a weak one', async (t) => {
  const app = await started(t)
  for (const accepted of [undefined, 'br']) {
    const { headers } = await ask(app, '/tagged', accepted)
    t.match(headers, { etag: 'W/"abc"', vary: 'Origin, accept-encoding' })
  }
})

t.test('error pages, sitemap and feeds are compressed', async (t) => {
  const xml = definePlugin({ name: 'xml' }, async (app) => {
    const options = { config: { auth: 'none' as const, text: true }, constraints: { origin: 'portal' } }
    app.get('/feed.xml', options, async (request, reply) =>
      sendXml(request, reply, `<feed>${TEXT}</feed>`, 'application/atom+xml; charset=utf-8'),
    )
    const page = { config: { auth: 'none' as const, page: true }, constraints: { origin: 'portal' } }
    app.get('/gone', page, async () => {
      throw new NotFound('page')
    })
  })
  const app = await startKernel(t, { plugins: [xml] })
  const pushed = Array.from({ length: 60 }, (_, index) => `part-${index}`)
  app.sitemaps.push({ name: 'all', starts: async () => pushed, pages: async () => [] })
  for (const [url, status] of [
    ['/feed.xml', 200],
    ['/sitemap.xml', 200],
    ['/gone', 404],
    ['/nowhere', 404],
  ] as const) {
    const headers = { host: 'localhost:8080', accept: 'text/html' }
    const plain = await app.inject({ url, headers })
    t.equal(plain.headers['content-encoding'], undefined, url)
    for (const [coding, decode] of Object.entries(decoders)) {
      const answer = await app.inject({ url, headers: { ...headers, 'accept-encoding': coding } })
      t.match(answer, { statusCode: status, headers: { 'content-encoding': coding, vary: /accept-encoding/i } })
      const sizes = [answer.rawPayload.length, plain.rawPayload.length] as const
      t.ok(sizes[0] < sizes[1] / 2, `${url} in ${coding}: ${sizes}`)
      const text = decode(answer.rawPayload).toString()
      t.equal(text.length, plain.payload.length)
      const head = await app.inject({ method: 'HEAD', url, headers: { ...headers, 'accept-encoding': coding } })
      t.match(head, { statusCode: status, rawPayload: Buffer.alloc(0) }, 'HEAD')
    }
  }
  const tagged = await app.inject({ url: '/feed.xml', headers: { host: 'localhost:8080', 'accept-encoding': 'br' } })
  const again = { host: 'localhost:8080', 'accept-encoding': 'br', 'if-none-match': String(tagged.headers.etag) }
  t.equal((await app.inject({ url: '/feed.xml', headers: again })).statusCode, 304)
})

t.test('the OpenAPI document is compressed once, with a tag for each form', async (t) => {
  const app = await started(t)
  const plain = await ask(app, '/openapi.json', undefined)
  const packed = await ask(app, '/openapi.json', 'gzip, br, zstd')
  t.equal(packed.coding, 'br')
  t.equal(packed.body, plain.body)
  t.not(packed.headers.etag, plain.headers.etag)
  const again = await app.inject({
    url: '/openapi.json',
    headers: { host: 'localhost:8080', 'accept-encoding': 'br', 'if-none-match': String(packed.headers.etag) },
  })
  t.match(again, { statusCode: 304, headers: { vary: 'accept-encoding' } })
  t.equal(again.body, '')
})

t.test('the reference is kept compressed for whoever is not signed in', async (t) => {
  const app = await started(t)
  const first = await ask(app, '/docs/api', 'br')
  const [, group] = /href="(\/docs\/api\/[a-z-]+)"/.exec(first.body) ?? []
  t.match((await ask(app, group as string, 'br')).status, 200)
  t.match((await ask(app, '/docs/api/nothing', 'br')).status, 404)
  const kept = await until(async () => {
    const next = await ask(app, '/docs/api', 'br')
    return next.headers.etag ? next : null
  })
  t.match(kept, { status: 200, coding: 'br', body: first.body, headers: { 'cache-control': 'private, no-cache' } })
  t.match(kept.headers, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': String })
  const { headers } = kept
  const request = { url: '/docs/api', headers: { host: 'localhost:8080', 'accept-encoding': 'br' } }
  const revalidated = await app.inject({
    ...request,
    headers: { ...request.headers, 'if-none-match': String(headers.etag) },
  })
  t.equal(revalidated.statusCode, 304)
  const dark = await app.inject({ ...request, headers: { ...request.headers, cookie: 'gameyard_theme_8080=dark' } })
  t.notOk(dark.headers.etag, 'whoever chose colours has a page of their own')
  t.match(brotliDecompressSync(dark.rawPayload).toString(), 'data-theme="dark"')
})
