// Tests the endpoints for games, POST /api/ai/generate and GET /api/ai/credits, with a provider that implements the
// real protocol.
import t from 'tap'
import { aiConfig, json, openai, PNG, startAiServer } from '../../kit/ai-server.ts'
import { startPlatform } from '../../kit/platform.ts'

const text = { type: 'text', prompt: 'Greet the player.' }

async function inhabit(t: Parameters<typeof startPlatform>[0], config: Record<string, unknown> = {}) {
  const server = await startAiServer(t)
  const platform = await startPlatform(t, { config: { ai: aiConfig(server), ...config } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const ledger = async () => (await program.get('/api/ai/credits')).body
  return { server, platform, owner, program, ledger }
}

t.test('the first look brings 100 credits, once whatever the concurrency', async (t) => {
  const { program } = await inhabit(t)
  const answers = await Promise.all(Array.from({ length: 30 }, () => program.get('/api/ai/credits')))
  for (const { status, body } of answers) {
    t.equal(status, 200)
    t.equal(body.balance, 100)
    t.match(body.ledger, [{ amount: 100, kind: 'signup', description: String, createdAt: /^\d{4}-.*\.\d{3}Z$/ }])
    t.equal(body.ledger.length, 1)
  }
})

t.test('a text is generated and paid', async (t) => {
  const { server, program, ledger } = await inhabit(t)
  server.answer = openai('Hello, player!', 1001)
  const { status, body, headers } = await program.post('/api/ai/generate', {
    ...text,
    system: 'You are a gatekeeper.',
    temperature: 0.5,
    maxOutputTokens: 3000,
  })
  t.equal(status, 200)
  t.match(headers, { 'access-control-allow-origin': '*', 'cache-control': 'no-store' })
  t.match(body, { id: /^gen_/, type: 'text', model: 'small', result: 'Hello, player!', creditsUsed: 2, balance: 98 })
  t.match(server.requests[0], {
    path: '/v1/chat/completions',
    headers: { authorization: 'Bearer sk-provider-secret-0123456789' },
    body: {
      model: 'small',
      max_tokens: 3000,
      temperature: 0.5,
      messages: [
        { role: 'system', content: 'You are a gatekeeper.' },
        { role: 'user', content: 'Greet the player.' },
      ],
    },
  })
  const { balance, ledger: entries } = await ledger()
  t.equal(balance, 98)
  t.match(entries, [{ amount: -2, kind: 'generation', description: 'Text by small' }, { amount: 100 }])
})

t.test('a text that was cut or filtered says so, whole and streamed, and after a repetition', async (t) => {
  const { server, program } = await inhabit(t)
  for (const [reason, finish] of [
    ['stop', 'complete'],
    ['length', 'length'],
    ['content_filter', 'filtered'],
  ]) {
    server.answer = ({ body: { stream } }, response) => {
      const content = { content: '<think>Hm</think>Once upon' }
      const choice = { index: 0, finish_reason: reason, ...(stream ? { delta: content } : { message: content }) }
      const data = JSON.stringify({ choices: [choice] })
      if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${data}\n\n`)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(data)
    }
    const whole = await program.post('/api/ai/generate', text)
    t.match(whole.body, { result: 'Once upon', finish, creditsUsed: 1 })
    const headers = { 'idempotency-key': `one-text-of-${finish}` }
    const ids = new Set()
    for (const title of ['streamed', 'repeated']) {
      const { text: events } = await program.post('/api/ai/generate', { ...text, stream: true }, { headers })
      const [, done = ''] = events.split('event: done\ndata: ')
      t.match(JSON.parse(done), { result: 'Once upon', finish }, `${finish}, ${title}`)
      t.notMatch(events, /think/)
      ids.add(JSON.parse(done).id)
    }
    t.equal(ids.size, 1)
  }
})

t.test('an object matches its schema, or costs nothing', async (t) => {
  const { server, program, ledger } = await inhabit(t)
  const schema = {
    type: 'object',
    properties: { hp: { type: 'integer' } },
    required: ['hp'],
    additionalProperties: false,
  }
  server.answer = openai('{"hp": 12}')
  const good = await program.post('/api/ai/generate', { type: 'object', prompt: 'A goblin.', schema })
  t.match(good, { status: 200, body: { type: 'object', result: { hp: 12 }, creditsUsed: 1, balance: 99 } })
  t.match(server.requests[0]?.body.response_format, { type: 'json_schema', json_schema: { schema } })
  for (const answer of ['{"hp": "many"}', '{"hp": 12, "mp": 3}', '{"hp": 1', 'A goblin has 12 HP.', '']) {
    server.answer = openai(answer)
    const bad = await program.post('/api/ai/generate', { type: 'object', prompt: 'A goblin.', schema })
    const reason = answer === '' ? 'unavailable' : 'no_answer_in_schema'
    t.match(bad, { status: 502, body: { error: { code: 'upstream_error' }, reason } }, answer)
  }
  server.answer = openai('[1, 2]')
  const free = await program.post('/api/ai/generate', { type: 'object', prompt: 'Two numbers.' })
  t.match(free, { status: 200, body: { result: [1, 2] } }, 'without a schema any JSON will do')
  t.equal((await ledger()).balance, 98)
})

t.test('an image comes as base64 with its type', async (t) => {
  const { server, program } = await inhabit(t)
  const small = await program.post('/api/ai/generate', { type: 'image', prompt: 'A red dot.' })
  t.match(small, { status: 200, body: { type: 'image', model: 'painter', creditsUsed: 10, balance: 90 } })
  t.same(small.body.result, { b64Json: PNG.toString('base64'), contentType: 'image/png' })
  const wide = { type: 'image', prompt: 'A red dot.', imageSize: '2K', aspectRatio: '16:9' }
  t.match(await program.post('/api/ai/generate', wide), { status: 200, body: { creditsUsed: 20, balance: 70 } })
  t.equal(server.requests[1]?.body.size, '2752x1536')
  server.answer = json({ created: 1, data: [{ b64_json: '' }] })
  t.match(await program.post('/api/ai/generate', wide), { status: 502, body: { error: { code: 'upstream_error' } } })
})

t.test('input that is not valid is refused, and nothing asked of the provider', async (t) => {
  const { server, program } = await inhabit(t)
  const wrong: [Record<string, unknown>, string][] = [
    [{ prompt: 'x' }, 'type'],
    [{ type: 'text' }, 'prompt'],
    [{ type: 'music', prompt: 'x' }, 'type'],
    [{ type: 'text', prompt: '' }, 'prompt'],
    [{ type: 'text', prompt: 'x'.repeat(8001) }, 'prompt'],
    [{ type: 'text', prompt: 5 }, 'prompt'],
    [{ ...text, maxOutputTokens: 16_385 }, 'maxOutputTokens'],
    [{ ...text, maxOutputTokens: 0 }, 'maxOutputTokens'],
    [{ ...text, maxOutputTokens: 1.5 }, 'maxOutputTokens'],
    [{ ...text, temperature: 'hot' }, 'temperature'],
    [{ ...text, schema: {} }, 'schema'],
    [{ ...text, imageSize: '1K' }, 'imageSize'],
    [{ ...text, aspectRatio: '1:1' }, 'aspectRatio'],
    [{ ...text, colour: 'red' }, 'colour'],
    [{ ...text, model: 'unheard-of' }, 'model'],
    [{ type: 'image', prompt: 'x', imageSize: '4K' }, 'imageSize'],
    [{ type: 'image', prompt: 'x', aspectRatio: '0:1' }, 'aspectRatio'],
    [{ type: 'image', prompt: 'x', stream: true }, 'stream'],
    [{ type: 'object', prompt: 'x', schema: { type: 'nonsense' } }, 'schema'],
    [{ type: 'object', prompt: 'x', schema: { $ref: 'https://example.org/schema.json' } }, 'schema'],
    [{ type: 'object', prompt: 'x', schema: { description: 'x'.repeat(40_000) } }, 'schema'],
    [{ type: 'object', prompt: 'x', schema: 'string' }, 'schema'],
  ]
  for (const [body, path] of wrong) {
    const answer = await program.post('/api/ai/generate', body)
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request' } } }, JSON.stringify(body).slice(0, 80))
    t.equal(answer.body.error.details?.[0]?.path, path, answer.text.slice(0, 200))
  }
  t.match(await program.post('/api/ai/generate', { ...text, prompt: 'x'.repeat(8000) }), { status: 200 })
  t.equal(server.requests.length, 1)
})

t.test('too few credits: 402 with balance and required, and nothing asked of the provider', async (t) => {
  const { server, platform, owner, program } = await inhabit(t)
  await program.get('/api/ai/credits')
  await platform.app.credits.grant(owner.id, -97, { kind: 'adjustment', description: 'test', key: 'test' })
  const poor = await program.post('/api/ai/generate', text)
  t.match(poor, { status: 402, body: { error: { code: 'insufficient_credits' }, balance: 3, required: 5 } })
  t.equal(server.requests.length, 0)
  const modest = await program.post('/api/ai/generate', { ...text, maxOutputTokens: 3000 })
  t.match(modest, { status: 200, body: { creditsUsed: 1, balance: 2 } })
})

t.test('where no AI is set up, it says so', async (t) => {
  const platform = await startPlatform(t)
  const program = await platform.program(await platform.signUp())
  for (const type of ['text', 'object', 'image'])
    t.match(await program.post('/api/ai/generate', { type, prompt: 'x' }), {
      status: 503,
      body: { error: { code: 'ai_not_configured' } },
    })
  t.match(await program.get('/api/ai/credits'), { status: 200, body: { balance: 100 } })
})

t.test('only tokens with the scope are let in; a session is not', async (t) => {
  const { platform, owner } = await inhabit(t)
  const lacking = await platform.program(owner, ['games:read'])
  for (const answer of [await lacking.post('/api/ai/generate', text), await lacking.get('/api/ai/credits')]) {
    t.match(answer, { status: 403, body: { error: { message: 'API token is missing the ai:generate scope.' } } })
    t.equal(answer.headers['access-control-allow-origin'], '*')
  }
  t.match(await owner.post('/api/ai/generate', text), { status: 401 })
  t.match(await owner.get('/api/ai/credits'), { status: 401, headers: { 'access-control-allow-origin': '*' } })
})

t.test('a preflight from any origin is answered', async (t) => {
  const { platform } = await inhabit(t)
  for (const [path, method] of [
    ['/api/ai/generate', 'POST'],
    ['/api/ai/credits', 'GET'],
  ] as const) {
    const answer = await platform.stranger.request('OPTIONS', path, undefined, {
      headers: { origin: 'https://game.example', 'access-control-request-method': method },
    })
    t.equal(answer.status, 204)
    t.match(answer.headers, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': method,
      'access-control-allow-headers': /authorization, content-type, idempotency-key/,
    })
    t.equal(answer.headers['access-control-allow-credentials'], undefined)
  }
})

t.test('the same Idempotency-Key is generated and paid once', async (t) => {
  const { server, program, ledger } = await inhabit(t)
  const headers = { 'idempotency-key': 'a-key' }
  const first = await program.post('/api/ai/generate', text, { headers })
  const second = await program.post('/api/ai/generate', text, { headers })
  t.equal(first.status, 200)
  t.same(second.body, first.body)
  t.equal(server.requests.length, 1)
  t.equal((await ledger()).balance, 99)
  const other = await program.post('/api/ai/generate', { ...text, prompt: 'Another.' }, { headers })
  t.match(other, { status: 409 })
})

t.test('a stream under an Idempotency-Key is generated and paid once, too', async (t) => {
  const { server, program, ledger } = await inhabit(t)
  const ask = (fields = {}) =>
    program.post('/api/ai/generate', { ...text, stream: true, ...fields }, { headers: { 'idempotency-key': 'a-key' } })
  const doneOf = (answer: { text: string }) => JSON.parse(/event: done\ndata: (.*)\n/.exec(answer.text)?.[1] ?? 'null')
  // A failed request does not occupy the key.
  server.answer = json({ error: { message: 'no' } }, 500)
  t.match(await ask(), { status: 502 })
  server.answer = openai('Once upon a time.', 4)
  const asked = server.requests.length
  const first = await ask()
  t.match(doneOf(first), { result: 'Once upon a time.', creditsUsed: 1, balance: 99 })
  const second = await ask()
  t.match(second.headers, { 'content-type': 'text/event-stream', 'idempotent-replay': 'true' })
  t.equal(second.text.split('\n')[0], 'data: {"delta":"Once upon a time."}', 'all of it in one piece')
  t.same(doneOf(second), doneOf(first))
  t.equal(server.requests.length, asked + 1)
  t.equal((await ledger()).balance, 99)
  t.match(await ask({ stream: false }), { status: 409 }, 'another body')
})

t.test('a game is named by its owner, or by the token that a player lent it', async (t) => {
  const { platform, owner, program } = await inhabit(t)
  const game = await platform.game(owner)
  const other = await platform.program(await platform.signUp())
  const usage = () => platform.app.db.query('select game_id, credits from ai_generations order by id', [])
  t.match(await program.post('/api/ai/generate', { ...text, gameId: game.slug }), { status: 200 })
  const refused = { status: 400, body: { error: { code: 'invalid_request', details: [{ path: 'gameId' }] } } }
  t.match(await other.post('/api/ai/generate', { ...text, gameId: game.id }), refused)
  for (const gameId of ['no-such-game', '', 'gam_', "'", '\u{1F600}', 'gam_00000000000000000000000000', 'GAM'])
    t.match(await program.post('/api/ai/generate', { ...text, gameId }), refused, JSON.stringify(gameId))
  t.same(await usage(), [{ game_id: game.id, credits: 1 }])
})

t.test('a text streams piece by piece, and is paid in the end', async (t) => {
  const { server, program, ledger } = await inhabit(t)
  server.answer = openai('Once upon a time.', 4)
  const answer = await program.post('/api/ai/generate', { ...text, stream: true })
  t.match(answer, { status: 200, headers: { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' } })
  const events = answer.text.trim().split('\n\n')
  const pieces = events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, '')).delta)
  t.same(pieces, ['Once ', 'upon ', 'a ', 'time.'])
  const [event = '', data = ''] = (events.at(-1) ?? '').split('\n')
  t.equal(event, 'event: done')
  t.match(JSON.parse(data.replace(/^data: /, '')), { result: 'Once upon a time.', creditsUsed: 1, balance: 99 })
  t.equal((await ledger()).balance, 99)
})
