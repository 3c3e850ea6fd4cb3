import t from 'tap'
import Type from 'typebox'
import { bodyLimitsOf } from '../../../../core/http/limits/body-limits.ts'
import { definePlugin } from '../../../../core/plugin.ts'
import { startKernel } from '../../../kit/kernel.ts'

const OWN = 100_000

const routes = definePlugin({ name: 'routes' }, async (app) => {
  app.auth.recognise({
    credential: 'bearer',
    claims: () => true,
    authenticate: () => ({ kind: 'api-token', playerId: 'ply_1', scopes: [] }) as never,
  })
  const constraints = { origin: 'portal' }
  const schema = { body: Type.Record(Type.String(), Type.Unknown()) }
  const open = { config: { auth: 'none' as const }, constraints, schema }
  const closed = { config: { auth: 'any-token' as const }, constraints, schema }
  const handler = async () => 'taken'
  app.post('/open', open, handler)
  app.post('/closed', closed, handler)
  app.post('/open/own', { ...open, bodyLimit: OWN }, handler)
  app.post('/closed/own', { ...closed, bodyLimit: OWN }, handler)
  app.post('/narrow', { ...closed, bodyLimit: 100 }, handler)
})

t.test('bodies are as long as the route allows', async (t) => {
  const form = 'application/x-www-form-urlencoded'
  const start = async (limits: object) => {
    const app = await startKernel(t, { plugins: [routes], config: { limits } })
    const send = (url: string, body: string, type: string) =>
      app.inject({
        method: 'POST',
        url,
        body,
        headers: { host: 'localhost:8080', authorization: 'Bearer x', 'content-type': type },
      })
    /** Shows that a route takes a body of so many bytes and no longer one. */
    const takes = async (url: string, bytes: number, type = 'application/json') => {
      const [before, after] = type === form ? ['a=', ''] : ['{"a":"', '"}']
      const text = (length: number) => before + 'x'.repeat(length - before.length - after.length) + after
      t.equal((await send(url, text(bytes), type)).statusCode, 200, `${url} takes ${bytes} bytes of ${type}`)
      const refused = await send(url, text(bytes + 1), type)
      t.match(refused.json(), { error: { code: 'payload_too_large' } }, `${url} takes no more`)
    }
    return { send, takes }
  }

  const usual = await start({})
  await usual.takes('/open', 8192)
  await usual.takes('/open', 8192, form)
  await usual.takes('/closed', 65_536)
  await usual.takes('/closed', 16_384, form)
  for (const url of ['/open/own', '/closed/own'])
    for (const type of [undefined, form]) await usual.takes(url, OWN, type)
  await usual.takes('/narrow', 100)

  const pairs = (count: number) => Array.from({ length: count }, (_, index) => `f${index}=1`).join('&')
  t.equal((await usual.send('/closed', pairs(100), form)).statusCode, 200)
  t.match((await usual.send('/closed', pairs(101), form)).json(), {
    error: { code: 'invalid_request', message: 'The form has more than 100 fields.' },
  })
  t.equal((await usual.send('/closed/own', '&'.repeat(OWN), form)).statusCode, 400, 'nor empty ones')

  const larger = await start({ requestBodyBytes: 1_048_576 })
  await larger.takes('/open', 131_072)
  await larger.takes('/closed', 1_048_576)
  await larger.takes('/closed', 262_144, form)
  await larger.takes('/open/own', 131_072)
  await larger.takes('/closed/own', 1_048_576)
  await larger.takes('/narrow', 100)
})

t.test('a smaller value of the configuration leaves space for a sign-in', async (t) => {
  t.strictSame(bodyLimitsOf({ requestBodyBytes: 32_768 }), { json: 32_768, form: 16_384, open: 8192 })
  t.strictSame(bodyLimitsOf({ requestBodyBytes: 4096 }), { json: 4096, form: 4096, open: 4096 })
})
