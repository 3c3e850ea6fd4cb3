import { createMCPClient } from '@ai-sdk/mcp'
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

t.test('the client of another maker lists the tools and calls one', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const ada = await platform.signUp({ name: 'Ada' })
  const token = (await platform.program(ada)).token
  const client = await createMCPClient({
    transport: { type: 'http', url: `${platform.portal}/mcp`, headers: { authorization: `Bearer ${token}` } },
  })
  t.teardown(() => client.close())
  const tools = await client.tools()
  t.ok(tools.game_create && tools.games_list)
  const options = { toolCallId: '1', messages: [], context: {} } as never
  const made = await tools.game_create?.execute?.({ title: 'Elsewhere', description: '' }, options)
  t.match(JSON.stringify(made), /elsewhere/)
  t.match(JSON.stringify(await tools.games_list?.execute?.({}, options)), /Elsewhere/)
})
