// Tests the way from a request to an asset with a real Blender, and from a prompt with responses from a server of the
// test.
import { once } from 'node:events'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
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
        ...{ id: 'x', object: 'chat.completion', created: 1, model: 'writer' },
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

t.test('what can not be made says why', async (t) => {
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
