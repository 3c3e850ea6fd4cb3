// Answers of servers with OpenAI's protocol that differ from it, as their users report them.
import t, { type Test } from 'tap'
import { json, type Script, sse } from '../../../drivers/ai/conformance/server.ts'
import type { AiProvider, ProviderError } from '../../../drivers/ai/interface.ts'
import openaiCompatible from '../../../drivers/ai/openai-compatible.ts'
import { startAiServer } from '../../kit/ai-server.ts'
import { driverContext } from '../../kit/driver-context.ts'

const request = { model: 'llama', prompt: 'Greet.', maxOutputTokens: 100 }
const signal = AbortSignal.timeout(600_000)

async function gateway(t: Test) {
  const server = await startAiServer(t)
  const config = { baseUrl: `${server.url}/v1`, structuredOutputs: true, pricing: {} }
  const provider = await openaiCompatible.create(
    { ...config, models: { text: 'llama', image: 'painter' } },
    driverContext(),
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
