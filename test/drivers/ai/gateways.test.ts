// Answers of servers with OpenAI's protocol that differ from it, as their users report them.
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { json, PNG, type Script, sse } from '../../../drivers/ai/conformance/server.ts'
import type { AiProvider, ProviderError } from '../../../drivers/ai/interface.ts'
import openaiCompatible from '../../../drivers/ai/openai-compatible.ts'
import { startAiServer } from '../../kit/ai-server.ts'
import { driverContext, manualClock } from '../../kit/driver-context.ts'

const request = { model: 'llama', prompt: 'Greet.', maxOutputTokens: 100 }
const signal = AbortSignal.timeout(600_000)

async function gateway(t: Test, clock: Clock = systemClock) {
  const server = await startAiServer(t)
  const config = { baseUrl: `${server.url}/v1`, structuredOutputs: true, pricing: {} }
  const provider = await openaiCompatible.create(
    { ...config, models: { text: 'llama', image: 'painter' } },
    driverContext({ clock }),
  )
  t.teardown(() => provider.close())
  return { server, provider }
}

async function streamed(provider: AiProvider) {
  const stream = provider.streamText(request, signal)
  for (let text = ''; ; ) {
    const next = await stream.next()
    if (next.done) return { text, ...next.value }
    text += next.value
  }
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => null,
    (error) => error as ProviderError,
  )

/** A whole answer, or the same as a stream, with a reason for its end. */
const answer =
  (content: string, finish_reason: string | null, more: object = {}): Script =>
  (asked, response) => {
    const choice = { index: 0, finish_reason }
    const message = { role: 'assistant', content, ...more }
    return asked.body.stream
      ? sse([{ data: { choices: [{ ...choice, delta: message }] } }, '[DONE]'])(asked, response)
      : json({ choices: [{ ...choice, message }] })(asked, response)
  }

t.test('a stream without a reason for its end has broken off', async (t) => {
  const { server, provider } = await gateway(t)
  for (const reason of ['', null]) {
    server.answer = answer('Once upon', reason)
    t.match(await failure(streamed(provider)), { reason: 'invalid-answer' }, JSON.stringify(reason))
  }
  server.answer = answer('Once upon', 'error')
  t.match(await failure(streamed(provider)), { reason: 'invalid-answer' }, 'the server behind it failed')
  t.match(await failure(provider.text(request, signal)), { reason: 'invalid-answer' }, 'also when it is whole')
})

t.test('reasoning beside the content stays apart, and usage without numbers is no count', async (t) => {
  const { server, provider } = await gateway(t)
  for (const field of ['reasoning_content', 'reasoning']) {
    server.answer = answer('Hello.', 'stop', { [field]: 'Hmm.' })
    t.match(await streamed(provider), { text: 'Hello.', outputTokens: null })
    t.match(await provider.text(request, signal), { text: 'Hello.', outputTokens: null })
  }
  for (const usage of [{}, null, { completion_tokens: 0 }, { completion_tokens: null }]) {
    const choices = [{ index: 0, message: { content: 'Hello.' }, finish_reason: 'stop' }]
    server.answer = json({ choices, usage })
    t.match(await provider.text(request, signal), { outputTokens: null }, JSON.stringify(usage))
  }
})

t.test('a text that was cut or filtered says so, and nothing at all has that as its reason', async (t) => {
  const { server, provider } = await gateway(t)
  for (const [reason, finish, fault] of [
    ['stop', 'complete', 'invalid-answer'],
    ['eos', 'complete', 'invalid-answer'],
    ['length', 'length', 'cut'],
    ['content_filter', 'filtered', 'filtered'],
  ] as const) {
    server.answer = answer('Once upon', reason)
    t.match(await provider.text(request, signal), { finish }, reason)
    t.match(await streamed(provider), { text: 'Once upon', finish }, `${reason}, streamed`)
    server.answer = answer('', reason, { reasoning_content: 'Hmm.' })
    t.match(await failure(provider.text(request, signal)), { reason: fault }, reason)
    t.match(await failure(streamed(provider)), { reason: fault }, `${reason}, streamed`)
    t.match(await failure(provider.object(request, signal)), { reason: fault }, `${reason}, object`)
  }
})

t.test('a failure that stays is told from one that passes, and asked once', async (t) => {
  const { server, provider } = await gateway(t)
  for (const [status, error, body] of [
    [400, { code: 'content_filter' }, { reason: 'refused' }],
    [400, { code: 400, message: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' } }, { reason: 'refused' }],
    [400, { code: 'moderation_blocked', type: 'image_generation_user_error' }, { reason: 'refused' }],
    [400, { code: 'context_length_exceeded' }, { reason: 'refused' }],
    [401, { code: 'invalid_api_key' }, { reason: 'configuration' }],
    [400, { status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] }, { reason: 'configuration' }],
    [402, { message: 'Insufficient Balance' }, { reason: 'configuration' }],
    [404, { code: 'model_not_found' }, { reason: 'configuration' }],
    [429, { code: 'insufficient_quota' }, { reason: 'configuration' }],
    [408, {}, { reason: 'unavailable' }],
    [500, { code: 'content_filter' }, { reason: 'unavailable' }],
  ] as const) {
    let asked = 0
    server.answer = (...exchange) => {
      asked++
      return json({ error: { message: 'x', ...error } }, status)(...exchange)
    }
    const title = JSON.stringify([status, error])
    const problem = await failure(provider.text(request, signal))
    t.match(problem, { code: 'upstream_error', body }, title)
    t.equal(asked, 1, title)
    if (body.reason === 'configuration') t.type(problem?.hint, 'string', 'the log says what to change')
  }
})

t.test('an image may be the address of itself', async (t) => {
  const { server, provider } = await gateway(t)
  const picture = { model: 'painter', prompt: 'A dot', imageSize: '1K' } as const
  const address = `data:image/png;base64,${PNG.toString('base64')}`
  for (const image of [{ b64_json: address }, { url: address }, { b64_json: null, url: address }]) {
    server.answer = json({ data: [image] })
    const { bytes, contentType } = await provider.image(picture, signal)
    t.equal(contentType, 'image/png', Object.keys(image).join())
    t.ok(PNG.equals(bytes))
  }
  for (const url of ['data:text/html,<p>', 'http://127.0.0.1:9/x.png', 'file:///etc/passwd']) {
    server.answer = json({ data: [{ url }] })
    t.match(await failure(provider.image(picture, signal)), { code: 'upstream_error' }, url)
  }
  t.equal(server.requests.length, 6, 'nothing else is requested')
})

t.test('a model that refuses response_format is asked without, and gets the schema in words', async (t) => {
  const { server, provider } = await gateway(t)
  const schema = { type: 'object', properties: { name: { type: 'string' } } }
  for (const message of [
    "This model does not support response_format 'json_schema'.",
    'Unrecognized request argument supplied: response_format',
    'Structured outputs are not supported by this model.',
  ]) {
    server.requests.length = 0
    server.answer = (asked, response) =>
      (asked.body.response_format ? json({ error: { message } }, 400) : answer('{"name":"Brew"}', 'stop'))(
        asked,
        response,
      )
    t.match(await provider.object({ ...request, schema }, signal), { object: { name: 'Brew' } }, message)
    t.match(
      server.requests.map(({ body }) => [body.response_format?.type, body.messages[0].content]),
      [
        ['json_schema', /one JSON value/],
        [undefined, /"name":\{"type":"string"\}/],
      ],
    )
  }
  server.requests.length = 0
  server.answer = json({ error: { message: 'The prompt is too long.' } }, 400)
  t.match(await failure(provider.object({ ...request, schema }, signal)), { reason: 'refused' })
  t.equal(server.requests.length, 1, 'another refusal is final')
})

t.test('a kept connection that the server closes is replaced once', async (t) => {
  const { server, provider } = await gateway(t)
  const usual = answer('Hello.', 'stop')
  const closing: Script = (_asked, response) => response.destroy()
  /** Gives these answers in turn, after one that leaves a connection open. */
  const after = async (...script: Script[]) => {
    server.answer = usual
    await provider.text(request, signal)
    server.requests.length = 0
    server.answer = (...exchange) => (script.shift() ?? usual)(...exchange)
  }
  await after(closing)
  t.match(await provider.text(request, signal), { text: 'Hello.' })
  t.equal(server.requests.length, 2)
  await after(closing)
  t.match(await streamed(provider), { text: 'Hello.' })
  await after(closing, closing)
  t.match(await failure(provider.text(request, signal)), { reason: 'unreachable' })
  t.equal(server.requests.length, 2, 'a new connection is not kept, and its end is that of the request')
  await after((_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":')
    setImmediate(() => response.destroy())
  })
  t.match(await failure(provider.text(request, signal)), { code: 'upstream_error' })
  t.equal(server.requests.length, 1, 'an answer that has begun is not asked for again')
})

t.test('Retry-After may be a fraction', async (t) => {
  const { server, provider } = await gateway(t)
  const script = [json({}, 429, { 'retry-after': '0.01' }), answer('Hello.', 'stop')]
  server.answer = (...exchange) => script.shift()?.(...exchange)
  t.match(await provider.text(request, signal), { text: 'Hello.' })
  server.answer = json({}, 503, { 'retry-after': '7.2' })
  t.match(await failure(provider.text(request, signal)), { reason: 'busy', headers: { 'retry-after': '8' } })
})

t.test('Retry-After may be a date, and is read by the given clock', async (t) => {
  const clock = manualClock(new Date('2020-02-29T12:00:00.000Z'))
  const { server, provider } = await gateway(t, clock)
  server.answer = json({}, 503, { 'retry-after': 'Sat, 29 Feb 2020 12:01:30 GMT' })
  t.match(await failure(provider.text(request, signal)), { reason: 'busy', headers: { 'retry-after': '90' } })
})

t.test('the first stream of a model that thinks without an opening tag has no thoughts', async (t) => {
  const server = await startAiServer(t)
  const models = { text: ['deepseek-r1:8b', 'qwen3:4b', 'llama'] }
  const provider = await openaiCompatible.create(
    { baseUrl: `${server.url}/v1`, structuredOutputs: true, pricing: {}, models },
    driverContext(),
  )
  t.teardown(() => provider.close())
  const pieces = async (model: string, content: string[]) => {
    server.answer = sse([
      ...content.map((piece) => ({ data: { choices: [{ index: 0, delta: { content: piece } }] } })),
      { data: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] } },
      '[DONE]',
    ])
    return Array.fromAsync(provider.streamText({ ...request, model }, signal))
  }
  const thinking = ['Hmm, ', 'a greeting.\n</th', 'ink>\n\n', 'Hel', 'lo.']
  t.same(await pieces('deepseek-r1:8b', thinking), ['Hel', 'lo.'])
  t.same(await pieces('deepseek-r1:8b', thinking), ['Hel', 'lo.'], 'nor has the next one')
  t.same(await pieces('qwen3:4b', ['Hel', 'lo.']), ['Hello.'], 'one that does not think, in one piece at first')
  t.same(await pieces('qwen3:4b', ['Hel', 'lo.']), ['Hel', 'lo.'], 'and then as it arrives')
  t.same(await pieces('llama', ['Hel', 'lo.']), ['Hel', 'lo.'])
})
