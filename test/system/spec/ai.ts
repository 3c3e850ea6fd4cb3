// AI generation and credits.
import { openai, PNG } from '../../kit/ai-server.ts'
import { type Case, type Cases, ISO, type World } from './world.ts'

const TEXT = { type: 'text', prompt: 'Greet the player.' }
const SCHEMA = {
  type: 'object',
  properties: { gold: { type: 'integer' } },
  required: ['gold'],
  additionalProperties: false,
}

const generate = async (w: World, body: object, token?: string) =>
  w.post('/api/ai/generate', { token: token ?? (await w.token('ai:generate')), body })

/** What the provider was asked with. */
const asked = (w: World) => w.ai.requests.at(-1)?.body

const refused = async (t: Parameters<Case>[0], w: World, body: object, why: string) =>
  t.match(await generate(w, body), { status: 400, body: { error: { code: 'invalid_request', message: String } } }, why)

export const ai: Cases = {
  'POST /api/ai/generate / type': async (t, w) => {
    w.ai.answer = openai('Hello, player!')
    t.match(await generate(w, TEXT), { status: 200, body: { type: 'text', result: 'Hello, player!' } })
    w.ai.answer = openai('{"gold":7}')
    const object = { type: 'object', prompt: 'x', schema: SCHEMA }
    t.match(await generate(w, object), { status: 200, body: { type: 'object', result: { gold: 7 } } })
    w.ai.answer = openai('')
    t.match(await generate(w, { type: 'image', prompt: 'A chest' }), {
      status: 200,
      body: { type: 'image', result: { b64Json: PNG.toString('base64'), contentType: 'image/png' } },
    })
    await refused(t, w, { type: 'video', prompt: 'x' }, 'one of the three')
    await refused(t, w, { prompt: 'x' }, 'required')
  },
  'POST /api/ai/generate / prompt': async (t, w) => refused(t, w, { type: 'text' }, 'required'),
  'POST /api/ai/generate / system': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, { ...TEXT, system: 'You are a gatekeeper.' })).status, 200)
    t.match(asked(w).messages[0], { role: 'system', content: 'You are a gatekeeper.' })
  },
  'POST /api/ai/generate / schema': async (t, w) => {
    w.ai.answer = openai('{"gold":"much"}')
    const wrong = await generate(w, { type: 'object', prompt: 'x', schema: SCHEMA })
    t.match(wrong, { status: 502, body: { error: { code: 'upstream_error' } } }, 'the result is held to it')
    await refused(t, w, { ...TEXT, schema: SCHEMA }, 'valid only for objects')
    await refused(t, w, { type: 'object', prompt: 'x', schema: { type: 'nonsense' } }, 'a JSON Schema')
  },
  'POST /api/ai/generate / model': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.match((await generate(w, { ...TEXT, model: 'large' })).body, { model: 'large' })
    await refused(t, w, { ...TEXT, model: 'nobody' }, 'one that there is')
  },
  'POST /api/ai/generate / gameId': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, { ...TEXT, gameId: (await w.game()).id })).status, 200)
  },
  'POST /api/ai/generate / maxOutputTokens': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, { ...TEXT, maxOutputTokens: 100 })).status, 200)
    t.equal(asked(w).max_tokens, 100)
    for (const maxOutputTokens of [0, 1.5, '100'])
      await refused(t, w, { ...TEXT, maxOutputTokens }, String(maxOutputTokens))
  },
  'POST /api/ai/generate / temperature': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, { ...TEXT, temperature: 0.25 })).status, 200)
    t.equal(asked(w).temperature, 0.25)
    await refused(t, w, { ...TEXT, temperature: 'hot' }, 'a number')
  },
  'POST /api/ai/generate / aspectRatio': async (t, w) => {
    w.ai.answer = openai('')
    t.equal((await generate(w, { type: 'image', prompt: 'x', aspectRatio: '1:1' })).status, 200)
    await refused(t, w, { ...TEXT, aspectRatio: '1:1' }, 'images only')
  },
  'POST /api/ai/generate / imageSize': async (t, w) => {
    w.ai.answer = openai('')
    t.equal((await generate(w, { type: 'image', prompt: 'x', imageSize: '1K' })).status, 200)
    await refused(t, w, { ...TEXT, imageSize: '1K' }, 'images only')
  },

  'AI and payments / POST /api/ai/generate': async (t, w) => {
    w.ai.answer = openai('Hello, player!')
    const { status, headers, body } = await generate(w, TEXT)
    t.match({ status, headers }, { status: 200, headers: { 'access-control-allow-origin': '*' } })
    t.same(Object.keys(body).sort(), ['balance', 'creditsUsed', 'finish', 'id', 'model', 'result', 'type'])
    t.match(body, { id: /^gen_/, creditsUsed: 1, balance: Number })
    t.equal((await w.post('/api/ai/generate', { body: TEXT })).status, 401)
  },
  'AI and payments / OPTIONS /api/ai/generate': async (t, w) => {
    for (const [path, method] of [
      ['/api/ai/generate', 'POST'],
      ['/api/ai/credits', 'GET'],
    ]) {
      const { status, headers } = await w.http('OPTIONS', path as string, {
        headers: {
          origin: 'https://game.example',
          'access-control-request-method': method as string,
          'access-control-request-headers': 'authorization,content-type',
        },
      })
      t.ok(status === 200 || status === 204, `${path}: ${status}`)
      t.equal(headers['access-control-allow-origin'], '*')
      t.match(String(headers['access-control-allow-methods']), method as string)
      t.match(String(headers['access-control-allow-headers']).toLowerCase(), 'authorization')
    }
  },
  'AI and payments / GET /api/ai/credits': async (t, w) => {
    const { token } = await w.createToken(['ai:generate'], {}, await w.player())
    const { status, headers, body } = await w.get('/api/ai/credits', { token })
    t.match({ status, headers }, { status: 200, headers: { 'access-control-allow-origin': '*' } })
    t.match(body, { balance: 100, ledger: [{ amount: 100, kind: 'signup', description: String, createdAt: ISO }] })
  },

  'Errors / 400 invalid_request': async (t, w) => {
    await refused(t, w, { ...TEXT, nothing: 1 }, 'a field that there is not')
    const { status, body } = await w.post('/api/ai/generate', {
      token: await w.token('ai:generate'),
      headers: { 'content-type': 'application/json' },
      body: '{ no json',
    })
    t.match({ status, body }, { status: 400, body: { error: { code: 'invalid_request' } } })
  },
  'Errors / 402 insufficient_credits': async (t, w) => {
    w.ai.answer = openai('')
    const { token } = await w.createToken(['ai:generate'], {}, await w.player())
    const image = { type: 'image', prompt: 'x', imageSize: '2K' }
    for (let spent = 0; spent < 100; spent += 20) t.equal((await generate(w, image, token)).status, 200)
    t.match(await generate(w, image, token), {
      status: 402,
      body: { error: { code: 'insufficient_credits', message: String }, balance: 0, required: 20 },
    })
  },
  'Errors / 502 upstream_error': async (t, w) => {
    w.ai.answer = (_request, response) => response.writeHead(500).end('{}')
    const { token } = await w.createToken(['ai:generate'], {}, await w.player())
    t.match(await generate(w, TEXT, token), {
      status: 502,
      body: { error: { code: 'upstream_error', message: String } },
    })
    t.equal((await w.get('/api/ai/credits', { token })).body.balance, 100, 'nothing is charged')
  },

  'Limits / prompt length': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, { type: 'text', prompt: 'x'.repeat(8000) })).status, 200)
    await refused(t, w, { type: 'text', prompt: 'x'.repeat(8001) }, 'one more')
  },
  'Limits / maxOutputTokens': async (t, w) => {
    w.ai.answer = openai('Yes.')
    t.equal((await generate(w, TEXT)).status, 200)
    t.equal(asked(w).max_tokens, 4096, 'the default')
    t.equal((await generate(w, { ...TEXT, maxOutputTokens: 16_384 })).status, 200)
    await refused(t, w, { ...TEXT, maxOutputTokens: 16_385 }, 'one more')
  },
  'Limits / imageSize': async (t, w) => refused(t, w, { type: 'image', prompt: 'x', imageSize: '4K' }, '1K or 2K'),
  'Limits / free signup credits': async (t, w) => {
    const { token } = await w.createToken(['ai:generate'], {}, await w.player())
    for (let call = 0; call < 3; call++) t.equal((await w.get('/api/ai/credits', { token })).body.balance, 100, 'once')
  },
  'Limits / ledger entries returned': async (t, w) => {
    w.ai.answer = openai('Yes.')
    const { token } = await w.createToken(['ai:generate'], {}, await w.player())
    for (let call = 0; call < 22; call++) await generate(w, TEXT, token)
    const { ledger, balance } = (await w.get('/api/ai/credits', { token })).body
    t.equal(ledger.length, 20)
    t.equal(balance, 78)
    t.match(ledger[0], { amount: -1, kind: 'generation' }, 'the last ones')
  },
}
