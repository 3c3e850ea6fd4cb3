// Tests with a real collector's endpoint and the platform in a separate process.
import { createRequire } from 'node:module'
import t, { type Test } from 'tap'
import { startTestServer } from '../../clients/cli/kit.ts'
import { startOtlp } from '../../kit/otlp.ts'
import { startPlatform } from '../../kit/platform.ts'
import type { ServerOptions } from '../../kit/server.ts'
import { until } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'

const TRACE = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'
const PARENT = '00f067aa0ba902b7'

t.test('nothing of OpenTelemetry is loaded unless it is wanted', async (t) => {
  const { app, stranger } = await startPlatform(t)
  t.equal((await stranger.get('/healthz')).status, 200)
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    /@fastify\/otel|@opentelemetry\/(sdk|exporter|instrumentation)/.test(file),
  )
  t.same(loaded, [])
  t.equal(await app.tracing.span('work', {}, async () => 7), 7, 'work just runs')
})

/** Tests the spans of a traced platform, for each way of starting it. */
async function tracedPlatform(t: Test, options: ServerOptions = {}) {
  const otlp = await startOtlp(t)
  const platform = await startTestServer(t, {
    ...options,
    config: {
      blender: { driver: 'none' },
      // Nothing listens there, so the provider fails.
      ai: { driver: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'key', models: { text: ['m'] } },
      telemetry: { endpoint: otlp.endpoint, headers: 'x-team=yard, authorization=Bearer a=b', serviceName: 'yard' },
    },
  })
  return { otlp, platform }
}

t.test('requests, errors, jobs, database and AI calls are traced, and the log names the trace', async (t) => {
  const { otlp, platform } = await tracedPlatform(t)
  const { portal } = platform.server
  const token = await platform.token(['games:read', 'ai:generate'])
  const headers = { authorization: `Bearer ${token}` }

  const traced = { ...headers, traceparent: `00-${TRACE}-${PARENT}-01` }
  const cursor = 'gam_00000000000000000000SESAME'
  t.equal((await ask('GET', `${portal}/api/games?limit=7&cursor=${cursor}`, { headers: traced })).status, 200)
  const request = await otlp.span(({ traceId, name }) => traceId === TRACE && name === 'GET /api/games')
  t.match(request, {
    parentSpanId: PARENT,
    status: 0,
    attributes: { 'http.request.method': 'GET', 'http.route': '/api/games', 'url.path': '/api/games' },
    resource: { 'service.name': 'yard', 'service.version': /^\d/, 'process.pid': /\d/, 'host.name': /./ },
  })
  t.equal(String(request.attributes['http.response.status_code']), '200')
  const query = await otlp.span(({ traceId, name }) => traceId === TRACE && name === 'db query')
  t.match(query.attributes, { 'db.system.name': 'sqlite', 'db.query.text': /^select / })
  t.match(otlp.headers[0], { 'x-team': 'yard', authorization: 'Bearer a=b' })
  const logged = () =>
    platform.server
      .output()
      .split('\n')
      .filter((line) => line.includes(TRACE))
      .map((line) => JSON.parse(line))
  await until(() => logged().length > 0)
  t.match(logged()[0], { trace_id: TRACE, span_id: request.spanId, msg: 'request', path: '/api/games' })

  t.equal((await ask('GET', `${portal}/api/games/nothing`, { headers })).status, 404)
  t.match(await otlp.span(({ name }) => name === 'GET /api/games/:id'), { status: 0 }, 'a refusal is no error')
  const failed = await ask('POST', `${portal}/api/ai/generate`, { headers, body: { type: 'text', prompt: 'Hello' } })
  t.equal(failed.status, 502)
  const error = await otlp.span(({ name }) => name === 'POST /api/ai/generate')
  t.equal(error.status, 2)
  const call = await otlp.span(({ name, traceId }) => name === 'ai text' && traceId === error.traceId)
  t.match(call, { status: 2, attributes: { 'gen_ai.request.model': 'm', 'error.type': /./ } })

  const job = await otlp.span(({ name }) => name === 'job games/forget-visitors')
  t.match(job, { status: 0, parentSpanId: '', attributes: { 'job.name': 'games/forget-visitors', 'job.id': /^bgj_/ } })
  await otlp.span(({ traceId, name }) => traceId === job.traceId && name === 'db execute')

  await ask('GET', `${portal}/setup/a-secret-of-the-path`, {})
  const setup = await otlp.span(({ name }) => name.startsWith('GET /setup/'))
  await ask('GET', `${portal}/healthz`, {})
  await ask('GET', `${portal}/docs`, {})
  await otlp.span(({ name }) => name === 'GET /docs')
  const everything = JSON.stringify(otlp.spans)
  for (const secret of ['SESAME', 'a-secret-of-the-path', token, 'Hello', platform.email])
    t.notMatch(everything, secret, `nowhere: ${secret.slice(0, 12)}`)
  t.match(setup.attributes['url.path'], /^\/setup\/:/)
  t.notOk(otlp.spans.some(({ name }) => name.includes('healthz')))
  t.equal(await platform.server.stop(), 0)
})
