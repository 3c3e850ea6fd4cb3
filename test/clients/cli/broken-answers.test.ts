// The command line's client of the API against a server whose answers break, stall, or come from something else, over a
// real socket. The SDK has the same rules: test/clients/sdk-broken-answers.test.ts
import t, { type Test } from 'tap'
import { Api } from '../../../clients/cli/api.ts'
import { CliError } from '../../../clients/cli/errors.ts'
import { cut, cutWithoutLength, json, page, stalled, startScriptedServer } from '../../kit/scripted-server.ts'

async function serving(t: Test) {
  const server = await startScriptedServer(t)
  const connection = { baseUrl: server.baseUrl, token: 'x', tokenFrom: 'environment', userAgent: 'test' } as const
  return { ...server, api: new Api(connection) }
}

const PAID = { headers: { 'idempotency-key': 'k1' }, repeatable: true }
const failure = (call: Promise<unknown>) =>
  call.then(
    (result) => ({ name: 'none', result }),
    (error) => error,
  )

t.test('an answer that is cut is fetched again with its key, or ends as a connection that broke', async (t) => {
  const { api, seen, answer } = await serving(t)
  answer(cut('{"id":', { 'content-type': 'application/json', 'content-length': '100' }), json({ id: 1 }))
  t.same(await api.post('/api/ai/generate', {}, PAID), { id: 1 })
  t.match(
    seen.map(({ key }) => key),
    ['k1', 'k1'],
  )
  answer(cutWithoutLength, json({ id: 1 }))
  t.same(await api.get('/api/whoami'), { id: 1 }, 'also without a length')
  answer(cut('{"id":'))
  const error = await failure(api.post('/api/deploy/dep_1/rollback'))
  t.type(error, CliError)
  t.match([error, seen.length], [{ code: 'unreachable', message: /the connection was cut/ }, 1])
})

t.test('an answer that stalls ends by the time limit', async (t) => {
  const { api, answer } = await serving(t)
  answer(stalled('{"id":'))
  const error = await failure(api.post('/api/deploy', {}, { idleMs: 200 }))
  t.type(error, CliError)
  t.match(error, { code: 'unreachable' })
})

t.test('something else than a platform is said as such, and not asked again', async (t) => {
  const { api, seen, answer } = await serving(t)
  for (const script of [page, json({ hello: 'world' })]) {
    answer(script)
    const error = await failure(script === page ? api.get('/api/whoami') : api.all('/api/games', 'games'))
    t.type(error, CliError)
    t.match([error, seen.length], [{ code: 'unexpected_answer', hint: /Check the address/ }, 1])
  }
})

t.test('the first request with a key that is still under way is waited for', async (t) => {
  const { api, seen, answer } = await serving(t)
  const busy = json({ error: { code: 'conflict', message: 'under way' } }, 409, { 'retry-after': '0' })
  const past = { 'retry-after': new Date(0).toUTCString() }
  answer(json({}, 409, past), ...Array.from({ length: 6 }, () => busy), json({ id: 1 }))
  t.same(await api.post('/api/ai/generate', {}, PAID), { id: 1 })
  t.equal(seen.length, 8, 'more often than a failure')
  for (const [script, options] of [
    [json({ error: { code: 'conflict', message: 'taken' } }, 409), PAID],
    [busy, {}],
  ] as const) {
    answer(script)
    t.match(await failure(api.post('/api/games', {}, options)), { code: 'conflict' })
    t.equal(seen.length, 1)
  }
})
