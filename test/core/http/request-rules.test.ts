import t from 'tap'
import Type from 'typebox'
import { definePlugin } from '../../../core/plugin.ts'
import { startKernel } from '../../kit/kernel.ts'

const mirror = definePlugin({ name: 'mirror' }, async (app) => {
  const options = { config: { auth: 'none' as const }, constraints: { origin: 'portal' } }
  const schema = { body: Type.Object({ any: Type.Unknown() }) }
  app.post('/mirror', { ...options, bodyLimit: 1_048_576, schema }, async (request) => request.body)
  app.get('/mirror/:word', options, async (request) => request.params)
  app.get('/pages/:word', { ...options, config: { auth: 'none', page: true } }, async (request) => request.params)
})

const portal = { host: 'localhost:8080' }
const nested = (depth: number) => `{"any":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

t.test('text that is none, and nesting beyond measure, are refused before anything meets them', async (t) => {
  const app = await startKernel(t, { plugins: [mirror] })
  const post = (body: string, type = 'application/json') =>
    app.inject({ method: 'POST', url: '/mirror', headers: { ...portal, 'content-type': type }, body })
  const refused: [string, RegExp, string?][] = [
    ['{"any":"a\\u0000b"}', /: any has the control character NUL/],
    ['{"any":[{"deep":{"er":"\\u0000"}}]}', /: any.0.deep.er has the control/],
    ['{"any":{"a\\u0000":1}}', /has the control/],
    ['{"any":"\\ud800"}', /: any is not valid Unicode/],
    ['{"any":"\\udc00\\ud800"}', /is not valid Unicode/],
    ['any=a%00b', /: any has the control/, 'application/x-www-form-urlencoded'],
    [nested(102), /: any.*nested more than 100 levels/],
    [nested(200_000), /: any.*nested more than 100 levels/],
    [`{"any":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`, /: any.*nested more than 100 levels/],
  ]
  for (const [body, message, type] of refused) {
    const answer = await post(body, type)
    t.equal(answer.statusCode, 400, body.slice(0, 40))
    t.match(answer.json(), { error: { code: 'invalid_request', message } }, body.slice(0, 40))
  }
  for (const any of ['\\u0000 spelled out', '👩‍👩‍👧‍👦 and \u202e', '\u0001\t\n', ['', null, 1.5, { '': '' }]]) {
    t.same((await post(JSON.stringify({ any }))).json(), { any }, JSON.stringify(any))
  }
  t.equal((await post(nested(101))).statusCode, 200)
})

t.test('an address that is no URL, or has a NUL in it, is refused in the one error shape', async (t) => {
  const app = await startKernel(t, { plugins: [mirror] })
  for (const url of ['/mirror/%zz', '/mirror/%', '/mirror/%ff', '/mirror/%00', '/mirror/a?b=%00', '/nowhere/%00']) {
    const answer = await app.inject({ url, headers: portal })
    t.equal(answer.statusCode, 400, url)
    t.match(answer.json(), { error: { code: 'invalid_request' } }, url)
    t.ok(answer.headers['x-request-id'], url)
    t.equal(answer.headers['cache-control'], 'no-store', url)
  }
  const long = await app.inject({ url: `/mirror/${'x'.repeat(1025)}`, headers: portal })
  t.match(long, { statusCode: 404 })
  t.match(long.json(), { error: { code: 'not_found' } }, 'nothing has a name that long')
  const page = await app.inject({ url: '/pages/%00', headers: portal })
  t.match(page, { statusCode: 400, body: /^<!doctype html>/i }, 'pages answer with pages')
})

t.test('what a caller made up does not come back at length', async (t) => {
  const app = await startKernel(t, { plugins: [mirror] })
  const body = JSON.stringify({ ['x'.repeat(100_000)]: 1 })
  const answer = await app.inject({
    method: 'POST',
    url: '/mirror',
    headers: { ...portal, 'content-type': 'application/json' },
    body,
  })
  t.equal(answer.statusCode, 400)
  t.ok(answer.body.length < 2000)
})
