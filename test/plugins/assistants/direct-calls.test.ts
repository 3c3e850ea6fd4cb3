// Calls that only read are answered without a server of the SDK. They are answered as the SDK would.
import t from 'tap'
import { ALL } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'

const REVISIONS = ALL ? (['2026-07-28', '2025-11-25', '2025-06-18'] as const) : (['2026-07-28', '2025-11-25'] as const)

t.test('a direct answer is the one of the SDK', async (t) => {
  const platform = await startPlatform(t)
  const ada = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(ada, ['games:read'])
  const game = await platform.game(ada, { title: 'Dots' })

  const send = async (revision: string, params: object, changes: Record<string, unknown> = {}, headers = {}) => {
    const modern = revision === '2026-07-28'
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const { name } = params as { name: string }
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { ...params, ...(modern ? { _meta } : {}) } }
    const derived = modern ? { 'mcp-method': 'tools/call', 'mcp-name': name } : {}
    const answer = await program.post(
      '/mcp',
      { ...message, ...changes },
      {
        headers: {
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': revision,
          ...derived,
          ...headers,
        },
      },
    )
    const data = /^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text
    return { status: answer.status, message: JSON.parse(data), type: answer.headers['content-type'] }
  }

  for (const revision of REVISIONS) {
    for (const [name, args] of [
      ['game_get', { id: game.id }],
      ['games_list', {}],
      ['games_list', undefined],
      ['game_get', { id: 'none-of-that-name' }],
      ['game_get', { identity: 1 }],
      ['credits', {}],
    ] as const) {
      const params = { name, ...(args ? { arguments: args } : {}) }
      const direct = await send(revision, params)
      // The SDK gets what has an unknown parameter, and ignores it.
      const { status, message } = await send(revision, { ...params, unknown: true })
      t.same({ status: direct.status, message: direct.message }, { status, message }, `${revision} ${name}`)
      t.match(direct.type, /^application\/json/)
    }
    t.same((await send(revision, { name: 'game_get', arguments: { id: 'x' } }, { id: 'a' })).message.id, 'a')
    const news = { name: 'game_get', arguments: { id: game.id }, _meta: { progressToken: 'p' } }
    t.match((await send(revision, news)).message, { result: { content: [{ type: 'text' }] } })
  }

  t.test('what is unusual is left to the SDK', async (t) => {
    const read = { name: 'game_get', arguments: { id: game.id } }
    for (const revision of REVISIONS) {
      t.match(await send(revision, { name: 'nothing' }), { message: { error: { code: -32602 } } })
      t.match(await send(revision, { ...read, arguments: ['x'] }), { message: { error: { code: -32602 } } })
      t.match(await send(revision, { ...read, arguments: 'x' }), { message: { error: { code: -32602 } } })
      t.match(await send(revision, read, { jsonrpc: '1.0' }), { status: 400 })
      t.match(await send(revision, read, { id: null }), { status: 400 })
      t.match(await send(revision, read, {}, { 'mcp-protocol-version': '1999-01-01' }), { status: 400 })
    }
    const [modern, former] = REVISIONS
    const token = { ...read, _meta: { progressToken: {} } }
    t.match(await send(former, token), { message: { error: { code: -32600 } } })
    t.equal((await send(former, read, {}, { 'mcp-protocol-version': modern })).status, 400)
    t.equal((await send(former, read, {}, { accept: 'application/json' })).status, 406)
    t.equal((await send(modern, read, {}, { 'mcp-name': 'games_list' })).status, 400)
    t.equal((await send(modern, read, {}, { 'mcp-name': undefined })).status, 400)
    t.equal((await send(modern, read, {}, { 'mcp-method': 'tools/list' })).status, 400)
    t.equal((await send(modern, read, {}, { 'mcp-protocol-version': undefined })).status, 400)
  })
})
