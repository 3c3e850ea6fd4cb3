// In a process of its own: ids never go back, and other files have been further in time.
// Tests the way from a request to an asset with a real Blender, and from a prompt with responses from a server of the
// test.
import { once } from 'node:events'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { GenerationRow, JobRow, WorkerRow } from '../../../plugins/blender/entities.ts'
import { QueueFull } from '../../../plugins/blender/errors.ts'
import { ATTEMPTS } from '../../../plugins/blender/generations/generations.ts'
import { Retention } from '../../../plugins/blender/jobs/retention.ts'
import { errorOf } from '../../kit/blender.ts'
import { hasPrograms } from '../../kit/components.ts'
import { inFull } from '../../kit/extent.ts'
import { type Client, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const blender = { driver: 'subprocess' }

const done = (client: Client, id: string) =>
  until(async () => {
    const { body } = await client.get(`/api/generations/${id}`)
    return ['completed', 'failed', 'cancelled'].includes(body.status) ? body : null
  }, 120)

/** Starts a provider with the OpenAI protocol that returns the answers of a list and records requests. */
async function startModel(t: Test, answers: string[]) {
  const asked: { messages: { role: string; content: unknown }[] }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    asked.push(JSON.parse(body))
    const content = answers[asked.length - 1] ?? 'pass'
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'writer',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
      }),
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  return {
    asked,
    ai: {
      driver: 'openai-compatible',
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: 'key',
      models: { text: ['writer'] },
    },
  }
}

t.test('a template becomes an ordinary asset, with picture and provenance', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, { config: { blender } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const request = {
    provider: 'blender',
    name: 'Gold coin',
    template: 'collectible',
    visibility: 'public',
    starters: ['pedestal-round'],
  }
  const key = { headers: { 'idempotency-key': 'once' } }
  const begun = await program.post('/api/generations', request, key)
  t.match(begun, { status: 202, body: { id: /^gen_/, jobId: /^job_/, assetId: null, error: null } })
  t.equal((await program.post('/api/generations', request, key)).body.id, begun.body.id, 'the same key, the same one')
  const made = await done(program, begun.body.id)
  t.match(made, { status: 'completed', assetId: /^ast_/, rounds: 0 })
  const asset = await platform.app.assets.get(made.assetId)
  t.match(asset, {
    title: 'Gold coin',
    kind: 'model',
    visibility: 'public',
    ownerId: owner.id,
    animations: ['spin'],
    source: { kind: 'generation', jobId: made.jobId },
  })
  t.ok(asset.thumbnailSha256, 'with its picture')
  t.match((await program.get(`/api/blender/v1/jobs/${made.jobId}`)).body, {
    status: 'completed',
    assetId: made.assetId,
  })
  const other = await platform.program(await platform.signUp())
  t.same(errorOf(await other.get(`/api/generations/${made.id}`)), [404, 'not_found'])
})

/** Starts the platform with a model and a worker that takes no jobs, so no Blender is needed. */
async function startWithoutBlender(t: Test) {
  const model = await startModel(t, ['```python\npass\n```'])
  const limits = { blenderQueuedPerOwner: 1 }
  const { app, clock, ...platform } = await startWith(t, { config: { ai: model.ai, limits } })
  const seenAt = clock.now()
  await app.db.em().insert(WorkerRow, { id: 'wrk', executor: 'x', capacity: 1, blenderVersion: '5', seenAt })
  return { app, clock, model, ...platform }
}

async function startWith(t: Test, options: Parameters<typeof startPlatform>[1]) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const { app, clock } = platform
  const post = (fields: object) => program.post('/api/generations', { provider: 'blender', name: 'Boat', ...fields })
  const get = async (id: string) => (await program.get(`/api/generations/${id}`)).body
  const balance = async () => (await program.get('/api/ai/credits')).body.balance
  const advance = (id: string, attempt = 1) =>
    app.generatedAssets.advance(id, { attempt, signal: new AbortController().signal })
  /** Waits until the background job of a generation has failed once. */
  const failedOnce = (id: string) =>
    until(
      async () => (await app.db.query('select 1 from background_jobs where key = ? and error is not null', [id]))[0],
    )
  return { app, clock, program, post, get, balance, advance, failedOnce }
}

t.test('a script is paid once, however often its job cannot be queued', async (t) => {
  const { app, model, post, get, balance, advance, failedOnce } = await startWithoutBlender(t)
  const submit = app.blender.submit.bind(app.blender)
  const errors = [new Error('the process died'), new QueueFull(1)]
  app.blender.submit = async (...request) => {
    const error = errors.shift()
    if (error) throw error
    return submit(...request)
  }
  const { body, status } = await post({ prompt: 'A boat' })
  t.equal(status, 202)
  await failedOnce(body.id)
  await t.rejects(advance(body.id, 2), { code: 'queue_full' })
  t.match(await get(body.id), { status: 'writing', error: null }, 'a full queue is not the end')
  await advance(body.id, 3)
  t.match(await get(body.id), { status: 'queued', jobId: /^job_/, rounds: 1 })
  t.equal(model.asked.length, 1)
  t.equal(await balance(), 99)
})

t.test('nothing is paid while no job can be queued', async (t) => {
  const { model, post, balance } = await startWithoutBlender(t)
  t.equal((await post({ template: 'prop' })).status, 202)
  t.same(errorOf(await post({ prompt: 'A boat' })), [409, 'queue_full'])
  const other = await startWith(t, { config: { ai: model.ai } })
  t.same(errorOf(await other.post({ prompt: 'A boat' })), [503, 'blender_not_configured'])
  t.equal(model.asked.length, 0)
  t.equal(await balance(), 100)
})

t.test('a generation that nothing continues has failed', async (t) => {
  const { app, clock, post, get, advance, failedOnce } = await startWithoutBlender(t)
  const made = await post({ template: 'prop' })
  await app.db.em().nativeDelete(JobRow, { id: made.body.jobId })
  await advance(made.body.id)
  t.match(await get(made.body.id), { status: 'failed', error: { code: 'not_found' } }, 'its job was removed')

  app.blender.submit = () => Promise.reject(new Error('an outage'))
  const { body } = await post({ prompt: 'A boat' })
  await failedOnce(body.id)
  await t.rejects(advance(body.id, ATTEMPTS), /an outage/)
  t.match(await get(body.id), { status: 'failed', error: { code: 'internal' } }, 'the last attempt failed')

  await app.db.em().nativeUpdate(GenerationRow, { id: body.id }, { status: 'writing' })
  clock.advance(400 * 86_400_000)
  await new Retention(app, 30).sweep(new AbortController().signal)
  t.equal(await app.db.em().count(GenerationRow, {}), 0, 'what no process has ended is swept')
})

t.test('what cannot be made says why', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const platform = await startPlatform(t, { config: { blender } })
  const program = await platform.program(await platform.signUp())
  const post = (fields: object) => program.post('/api/generations', { provider: 'blender', name: 'x', ...fields })
  t.same(errorOf(await post({ provider: 'magic' })), [400, 'unsupported_provider'])
  t.same(errorOf(await post({ prompt: 'a boat' })), [503, 'ai_not_configured'])
  t.same(errorOf(await post({})), [400, 'invalid_request'])
  const failed = await post({ script: 'nonsense' })
  t.match(await done(program, failed.body.id), { status: 'failed', assetId: null, error: { code: 'script_error' } })
  const long = await post({ script: 'import time; time.sleep(60)' })
  await program.post(`/api/blender/v1/jobs/${long.body.jobId}/cancel`)
  t.match(await done(program, long.body.id), { status: 'cancelled', assetId: null })
})

inFull(t)?.test('a model writes the script, and mends it when it fails; each answer is paid', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const good = "Here:\n```python\njob.box('boat', (1, 2, 0.5), job.material('wood', '#885533'), taper=1.2)\n```\nDone."
  const model = await startModel(t, ['```python\nno_such_name\n```', good])
  const platform = await startPlatform(t, { config: { blender, ai: model.ai } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const { body, status } = await program.post('/api/generations', {
    provider: 'blender',
    name: 'Boat',
    prompt: 'A rowing boat',
  })
  t.equal(status, 202)
  const made = await done(program, body.id)
  t.match(made, { status: 'completed', rounds: 2, assetId: /^ast_/ })
  const said = JSON.stringify(model.asked.map(({ messages }) => messages))
  t.match(said, /A rowing boat/)
  t.match(said, /job\.lathe/, 'it is told of the helpers')
  t.match(said, /line 1: NameError/, 'and of its mistake')
  t.match(await program.get('/api/ai/credits'), { body: { balance: 98 } })
})

inFull(t)?.test('after two repairs it gives up', async (t) => {
  if (!hasPrograms(t, 'blender', 'bwrap')) return
  const model = await startModel(t, ['wrong_1', 'wrong_2', 'wrong_3', 'wrong_4'])
  const platform = await startPlatform(t, { config: { blender, ai: model.ai } })
  const program = await platform.program(await platform.signUp())
  const { body } = await program.post('/api/generations', { provider: 'blender', name: 'Boat', prompt: 'A boat' })
  t.match(await done(program, body.id), {
    status: 'failed',
    rounds: 3,
    error: { code: 'script_error', message: /wrong_3/ },
  })
  t.equal(model.asked.length, 3)
})
