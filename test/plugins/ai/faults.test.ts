// Tests faults of a provider or a caller: the error code is correct, nothing is charged, and nothing is free.
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type AiServer, aiConfig, json, openai, PROVIDER_KEY, type Script, startAiServer } from '../../kit/ai-server.ts'
import { captureLog } from '../../kit/driver-context.ts'
import { type Client, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const text = { type: 'text', prompt: 'Greet the player.' }
const WORDS = `Key ${PROVIDER_KEY} of org-1234 is over its quota.`
const refusal = { error: { message: WORDS, type: 'x' } }

/** @param seconds the maximum duration of a generation */
async function inhabit(t: Parameters<typeof startPlatform>[0], seconds = 20, listen = false) {
  const server = await startAiServer(t)
  const { log, lines } = captureLog()
  const platform = await startPlatform(t, {
    config: { ai: aiConfig(server), limits: { aiSeconds: seconds } },
    log,
    listen,
  })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  await program.get('/api/ai/credits')
  const account = () => platform.app.credits.balance(owner.id)
  return { server, platform, owner, program, lines, account }
}

t.test('a provider that fails costs nothing and is not quoted', async (t) => {
  // Silence is an error after a second. The other answers have time, also on a busy machine.
  const [quick, patient] = [await inhabit(t, 1), await inhabit(t, 100)]
  const trickle: Script = async (asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    while (!asked.aborted) {
      response.write(' ')
      await sleep(50)
    }
  }
  const table: [string, Script][] = [
    ['400', json(refusal, 400)],
    ['401', json(refusal, 401)],
    ['429', json(refusal, 429, { 'retry-after': '120' })],
    ['500', json(refusal, 500)],
    ['hang', () => {}],
    ['slow trickle', trickle],
    ['truncated JSON', (_asked, response) => response.writeHead(200).end('{"choices": [{"mess')],
    ['connection reset', (_asked, response) => response.destroy()],
    ['empty answer', json({})],
  ]
  for (const [name, script] of table) {
    const { server, program, account } = name === 'hang' || name === 'slow trickle' ? quick : patient
    server.answer = script
    for (const body of [text, { ...text, type: 'object' }, { ...text, type: 'image' }, { ...text, stream: true }]) {
      const answer = await program.post('/api/ai/generate', body)
      const title = `${name}: ${body.type}${'stream' in body ? ' stream' : ''}`
      t.match(answer, { status: 502, body: { error: { code: 'upstream_error', message: String } } }, title)
      t.notMatch(answer.text, /sk-provider|org-1234|quota/, `${title}: nothing is given away`)
      if (name === '429') t.equal(answer.headers['retry-after'], '120', `${title}: Retry-After is passed on`)
      t.same(await account(), { balance: 100, held: 0, available: 100 }, `${title}: nothing is charged`)
    }
  }
  const lines = [...quick.lines(), ...patient.lines()]
  t.notMatch(JSON.stringify(lines), /sk-provider|org-1234|over its quota/, 'nor in the log')
  t.match(JSON.stringify(lines), /a generation failed/)
})

t.test('a failure that stays says so, and the log says what to change', async (t) => {
  const { server, program, lines, account } = await inhabit(t)
  server.answer = json(refusal, 401)
  const answer = await program.post('/api/ai/generate', { ...text, stream: true })
  t.match(answer, { status: 502, body: { error: { code: 'upstream_error' }, reason: 'configuration' } })
  t.match(JSON.stringify(lines()), /"hint":"Check apiKey/)
  t.match(await account(), { balance: 100, held: 0 })
})

t.test('a stream that breaks off ends with an error event, uncharged', async (t) => {
  const { server, program, account } = await inhabit(t)
  server.answer = (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = { choices: [{ index: 0, delta: { content: 'Once ' }, finish_reason: null }] }
    response.write(`data: ${JSON.stringify(delta)}\n\n`, () => setTimeout(() => response.destroy(), 50))
  }
  const answer = await program.post('/api/ai/generate', { ...text, stream: true })
  t.equal(answer.status, 200)
  const [piece = '', end = ''] = answer.text.trim().split('\n\n')
  t.equal(piece, 'data: {"delta":"Once "}')
  t.match(end, /^event: error\ndata: \{"error":\{"message":"[^"]+","code":"upstream_error"\},"reason":"unavailable"\}$/)
  t.match(await account(), { balance: 100, held: 0 })
})

/** Sends a request over a socket, and closes it once the provider is working. */
async function leave(server: AiServer, portal: string, program: Client, body: object): Promise<void> {
  const before = server.requests.length
  const { port } = new URL(portal)
  const headers = { authorization: `Bearer ${program.token}`, 'content-type': 'application/json' }
  const asked = request({
    host: '127.0.0.1',
    port,
    path: '/api/ai/generate',
    method: 'POST',
    headers: { ...headers, host: `localhost:${port}` },
  })
  asked.on('error', () => {})
  asked.end(JSON.stringify(body))
  await until(() => server.requests.length > before)
  asked.destroy()
}

t.test('a caller who goes away ends the generation at the provider, uncharged', async (t) => {
  const { server, platform, program, account } = await inhabit(t, 100, true)
  const slowStream: Script = async (asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let count = 0; !asked.aborted; count++) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `${count} ` } }] })}\n\n`)
      await sleep(20)
    }
  }
  for (const [script, body] of [
    [(() => {}) as Script, text],
    [(() => {}) as Script, { ...text, type: 'image' }],
    [slowStream, { ...text, stream: true }],
  ] as const) {
    server.answer = script
    await leave(server, platform.portal, program, body)
    await until(() => server.requests.at(-1)?.aborted)
    t.pass('the provider was hung up on')
    await until(async () => (await account()).held === 0)
    t.same(await account(), { balance: 100, held: 0, available: 100 })
  }
  server.answer = openai('Hello.')
  t.match(await program.post('/api/ai/generate', text), { status: 200, body: { balance: 99 } })
})

t.test('a schema cannot hold everybody up', async (t) => {
  const { server, program, platform } = await inhabit(t)
  const evil = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } }
  server.answer = openai(JSON.stringify({ name: `${'a'.repeat(40)}!` }))
  const [answer, health] = await Promise.all([
    program.post('/api/ai/generate', { type: 'object', prompt: 'x', schema: evil }),
    sleep(5).then(() => platform.stranger.get('/healthz')),
  ])
  t.equal(health.status, 200)
  t.match(answer, { status: 502, body: { error: { code: 'upstream_error' } } })
  const nested = (depth: number): object => (depth === 0 ? {} : { anyOf: [nested(depth - 1), nested(depth - 1)] })
  const many = await program.post('/api/ai/generate', { type: 'object', prompt: 'x', schema: nested(9) })
  t.ok([200, 400, 502].includes(many.status), String(many.status))
})
