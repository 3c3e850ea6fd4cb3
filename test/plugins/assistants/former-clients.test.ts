// Clients of the revisions of 2025 over HTTP: a question comes on the stream of its call, and the answer, as a
// cancellation, by a request of its own, which may reach another node.
import { Readable } from 'node:stream'
import t from 'tap'
import local from '../../../drivers/bus/local.ts'
import { OpenCalls } from '../../../plugins/assistants/open-calls.ts'
import { aiConfig, PROVIDER_KEY, startAiServer } from '../../kit/ai-server.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startPlatform } from '../../kit/platform.ts'
import { connect } from './client.ts'

const VERSION = '2025-11-25'

t.test('clients of 2025 over HTTP', async (t) => {
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const provider = await startAiServer(t, (_request, response) => {
    response.once('close', () => ended.resolve())
    begun.resolve()
  })
  const platform = await startPlatform(t, { listen: true, config: { ai: aiConfig(provider) } })
  const ada = await platform.signUp({ name: 'Ada' })
  const token = (await platform.program(ada)).token as string
  const eveToken = (await platform.program(await platform.signUp({ name: 'Eve' }))).token as string

  /** Sends one message, and returns the response while its stream is open. */
  const send = (message: object, { session, as = token }: { session?: string | null; as?: string } = {}) =>
    fetch(`${platform.portal}/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      headers: {
        authorization: `Bearer ${as}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        ...(session ? { 'mcp-session-id': session } : {}),
      },
    })
  const begin = async (capabilities: object) => {
    const clientInfo = { name: 'raw', version: '1' }
    const params = { protocolVersion: VERSION, capabilities, clientInfo }
    const response = await send({ id: 0, method: 'initialize', params })
    await response.text()
    return response.headers.get('mcp-session-id')
  }
  const events = async function* (response: Response) {
    let text = ''
    for await (const piece of Readable.fromWeb(response.body as never).setEncoding('utf8')) {
      text += piece
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.+)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data) yield JSON.parse(data)
      }
    }
  }
  const rest = async (messages: AsyncGenerator) => {
    const all: unknown[] = []
    for await (const message of messages) all.push(message)
    return all
  }

  t.test('the official client is asked, and a no changes nothing', async (t) => {
    let yes = false
    const { call, questions } = await connect(t, platform, token, { era: '2025', ask: () => yes })
    const { json: game } = await call('game_create', { title: 'Asked', description: '' })
    const replace = { gameId: game.id, whole: true, files: { 'index.html': '<!doctype html><title>New</title>' } }
    t.match(await call('deploy_files', replace), { refused: true, json: /said no/ })
    t.equal((await call('game_get', { id: game.id })).json.liveDeployId, null)
    yes = true
    t.notOk((await call('deploy_files', replace)).refused)
    t.match(questions, [/Replace everything/, /Replace everything/])
    const silent = await connect(t, platform, token, { era: '2025' })
    t.notOk((await silent.call('deploy_files', replace)).refused, 'a client that cannot ask is not asked')
  })

  t.test('only the asked client answers, and a cancelled call changes nothing', async (t) => {
    const { call } = await connect(t, platform, token, { era: '2025' })
    const { json: game } = await call('game_create', { title: 'Guarded', description: '' })
    const live = async () => (await call('game_get', { id: game.id })).json.liveDeployId
    const session = await begin({ elicitation: {} })
    const other = await begin({ elicitation: {} })
    t.match(session, /^[\w-]{22}\.form$/)
    t.match(await begin({}), /^[\w-]{22}$/)
    const files = { 'index.html': '<!doctype html><title>New</title>' }
    const params = { name: 'deploy_files', arguments: { gameId: game.id, whole: true, files } }
    const ask = async (id: number) => {
      const stream = events(await send({ id, method: 'tools/call', params }, { session }))
      return { stream, question: (await stream.next()).value }
    }
    const yes = { action: 'accept', content: { confirm: true } }
    const cancel = (requestId: unknown) => ({ method: 'notifications/cancelled', params: { requestId } })

    const first = await ask(1)
    t.match(first.question, { method: 'elicitation/create', params: { message: /Replace everything/ } })
    const { id } = first.question
    for (const sender of [{ session: other }, { session, as: eveToken }, {}, { session: `${'x'.repeat(22)}.form` }]) {
      t.equal((await send({ id, result: yes }, sender)).status, 202)
      t.equal((await send(cancel(1), sender)).status, 202)
    }
    t.equal((await send(cancel('1'), { session })).status, 202, 'the text "1" is another id')
    t.equal(await live(), null)
    t.equal((await send({ id, error: { code: -1, message: 'No form.' } }, { session })).status, 202)
    t.match(await rest(first.stream), [{ id: 1, result: { isError: true } }], 'an error is no consent')

    const second = await ask(2)
    t.equal((await send(cancel(2), { session })).status, 202)
    t.same(await rest(second.stream), [], 'a cancelled call has no answer')
    t.equal((await send({ id: second.question.id, result: yes }, { session })).status, 202)
    t.equal(await live(), null)

    const third = await ask(3)
    t.equal((await send({ id: third.question.id, result: yes }, { session })).status, 202)
    t.match(await rest(third.stream), [{ id: 3, result: { content: [{ type: 'text' }] } }])
    t.ok(await live())
  })

  t.test('a player has at most twenty open calls, and still answers their questions', async (t) => {
    const { call } = await connect(t, platform, token, { era: '2025' })
    const { json: game } = await call('game_create', { title: 'Crowded', description: '' })
    const session = await begin({ elicitation: {} })
    const args = { gameId: game.id, whole: true, files: { 'index.html': 'x' } }
    const ask = (id: number, as?: string) =>
      send(
        { id, method: 'tools/call', params: { name: 'deploy_files', arguments: args } },
        { session, ...(as ? { as } : {}) },
      )
    const streams = await Promise.all(Array.from({ length: 20 }, async (_, id) => events(await ask(id))))
    const questions = await Promise.all(streams.map(async (stream) => (await stream.next()).value))
    const refused = await ask(20)
    t.equal(refused.status, 429)
    t.match(await refused.json(), { error: { code: 'too_many_streams' } })
    t.equal((await ask(21, eveToken)).status, 200, 'others have their own')
    t.equal((await send({ id: questions[0].id, result: { action: 'decline' } }, { session })).status, 202)
    t.match(await rest(streams[0] as AsyncGenerator), [{ id: 0, result: { isError: true } }])
    t.equal((await ask(22)).status, 200, 'one has ended')
    for (const { id } of questions) await send({ id, result: { action: 'decline' } }, { session })
    await Promise.all(streams.map(rest))
  })

  t.test('a cancelled generation ends at its provider, with the stream of its call open', async (t) => {
    const session = await begin({})
    const params = { name: 'ai_generate', arguments: { type: 'text', prompt: 'Hi', model: 'small' } }
    const response = await send({ id: 'g', method: 'tools/call', params }, { session })
    await begun.promise
    await send({ method: 'notifications/cancelled', params: { requestId: 'g' } }, { session })
    await ended.promise
    t.same(await rest(events(response)), [])
    const received = provider.requests.at(-1)
    t.equal(received?.headers.authorization, `Bearer ${PROVIDER_KEY}`)
    t.notOk(JSON.stringify(received).includes(token), 'the token of the call is not passed through')
  })
})

t.test('a question without an answer is a no in the end', async (t) => {
  const bus = await local.create({}, driverContext())
  t.teardown(() => bus.close())
  const calls = new OpenCalls(bus, driverContext().log as never)
  const sender = { playerId: 'ply_1', session: 'a' }
  t.equal(await calls.ask(sender, async () => {}, new AbortController().signal, 1), false)
})

t.test('messages reach a call on another node', async (t) => {
  const bus = { ...(await local.create({}, driverContext())), shared: true }
  t.teardown(() => bus.close())
  const { log } = driverContext()
  const [here, there] = [new OpenCalls(bus, log as never), new OpenCalls(bus, log as never)]
  await Promise.all([here.start(), there.start()])
  const sender = { playerId: 'ply_1', session: 'a' }
  const { signal, close } = here.open(sender, 1)
  const aborted = new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
  await there.receive({ ...sender, playerId: 'ply_2' }, { method: 'notifications/cancelled', params: { requestId: 1 } })
  await there.receive(sender, null)
  const asked = Promise.withResolvers<string>()
  const decision = here.ask(sender, async (id) => asked.resolve(id), new AbortController().signal)
  const answer = { id: await asked.promise, result: { action: 'accept', content: { confirm: true } } }
  await there.receive(sender, answer)
  t.equal(await decision, true)
  t.notOk(signal.aborted)
  await there.receive(sender, { method: 'notifications/cancelled', params: { requestId: 1 } })
  await aborted
  close()
})
