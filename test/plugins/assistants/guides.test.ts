import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { registeredTools } from '../../../plugins/assistants/tool-table.ts'
import { aiConfig, startAiServer } from '../../kit/ai-server.ts'
import { ALL } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { connect } from './client.ts'

const GUIDE = join(import.meta.dirname, '../../../docs/assistants.md')

t.test('what assistants read', async (t) => {
  let asked = () => {}
  const provider = await startAiServer(t, () => asked())
  const platform = await startPlatform(t, { listen: true, config: { ai: aiConfig(provider) } })
  const { app, portal, stranger } = platform
  const ada = await platform.signUp({ name: 'Ada' })
  const { token } = await platform.program(ada)
  const game = await platform.game(ada, { title: 'Pong' })

  t.test('the guide names every tool with its scope, and no other', async (t) => {
    const rows = readFileSync(GUIDE, 'utf8').matchAll(/^\| (`.*?) +\| (`[\w:]+`|none) +\|$/gm)
    const written = Array.from(rows, ([, names = '', scope = '']) =>
      Array.from(names.matchAll(/`(\w+)`/g), ([, name]) => `${name} ${scope.replaceAll('`', '')}`),
    ).flat()
    const tools = [...registeredTools(app.routeTable).values()]
    t.same(written.toSorted(), tools.map(({ name, scope = 'none' }) => `${name} ${scope}`).toSorted())
    for (const { name, effect, confirm } of tools) {
      t.equal(confirm !== undefined, effect === 'replaces', `${name} asks if, and only if, it is marked as destructive`)
    }
  })

  t.test('llms.txt names every guide and tool', async (t) => {
    const { status, text, headers } = await stranger.get('/llms.txt')
    t.equal(status, 200)
    t.match(headers['content-type'], /^text\/plain/)
    t.match(text, `${portal}/mcp`)
    for (const name of registeredTools(app.routeTable).keys()) t.match(text, `\`${name}\``)
    const [, path = ''] = /\]\(http:\/\/[^/]+(\/docs\/saves\.md)\)/.exec(text) ?? []
    t.match(await stranger.get(path), { status: 200, text: /^# Saves/ })
    t.equal((await stranger.get('/docs/nowhere.md')).status, 404)
  })

  t.test('guides have the addresses of this platform', async (t) => {
    const { client, call } = await connect(t, platform, token as string)
    const { resources } = await client.listResources()
    const example = 'http://localhost:8080'
    for (const { uri } of resources) {
      if (!uri.startsWith('gameyard://guides/')) continue
      const [read] = (await client.readResource({ uri })).contents as { text: string }[]
      t.notMatch(read?.text, example, uri)
      const { text } = await stranger.get(`/docs/${uri.split('/').at(-1)}.md`)
      t.equal(text, read?.text, uri)
    }
    const { sections } = (await call('docs_search', { q: 'npm install gameyard sdk tgz' })).json
    t.match(JSON.stringify(sections), `${portal}/download/gameyard-sdk.tgz`)
    t.notMatch(JSON.stringify(sections), example)
    t.match((await stranger.get('/docs/assistants.md')).text, `${portal}/mcp`)
    const found = await stranger.get('/api/docs/search?q=download')
    t.notMatch(found.text, example, 'excerpts, too')
  })

  t.test('resources: guides, parts of the API, the integration prompt of an own game', async (t) => {
    const { client } = await connect(t, platform, token as string)
    const { resources } = await client.listResources()
    for (const uri of ['gameyard://guides/saves', 'gameyard://api/deploys']) {
      t.ok(
        resources.some((resource) => resource.uri === uri),
        uri,
      )
    }
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { text: string }
    t.match((await read('gameyard://guides/saves')).text, /^# Saves/)
    t.match(JSON.parse((await read('gameyard://api/deploys')).text), { paths: { '/api/deploy': { post: Object } } })
    t.match((await read(`gameyard://games/${game.slug}/integration-prompt`)).text, /Pong/)
    const { resourceTemplates } = await client.listResourceTemplates()
    t.equal(resourceTemplates.length, 2)
    const eve = await platform.signUp({ name: 'Eve' })
    const { client: other } = await connect(t, platform, (await platform.program(eve)).token as string)
    for (const uri of [
      `gameyard://games/${game.slug}/integration-prompt`,
      'gameyard://guides/%E0%A4%A',
      'file:///etc/passwd',
    ]) {
      await t.rejects(other.readResource({ uri }), uri)
    }
    const { client: scopeless } = await connect(
      t,
      platform,
      (await platform.program(ada, ['assets:read'])).token as string,
    )
    await t.rejects(
      scopeless.readResource({ uri: `gameyard://games/${game.slug}/integration-prompt` }),
      /games:read scope/,
    )
  })

  t.test('prompts', async (t) => {
    const { client } = await connect(t, platform, token as string)
    const { prompts } = await client.listPrompts()
    t.same(
      prompts.map(({ name }) => name),
      ['add-sign-in', 'add-rooms', 'make-a-game'],
    )
    const prompt = await client.getPrompt({ name: 'add-sign-in', arguments: { game: game.slug } })
    t.match(JSON.stringify(prompt.messages), /auth\/service\/start/)
    await t.rejects(client.getPrompt({ name: 'add-rooms', arguments: {} }), /required/)
    await t.rejects(client.getPrompt({ name: 'add-rooms', arguments: { game: 'nowhere' } }), /no such game/i)
  })

  t.test('a cancelled generation ends at the provider and costs nothing', async (t) => {
    const { client } = await connect(t, platform, token as string)
    const { balance } = (await (await platform.program(ada)).get('/api/ai/credits')).body
    const stop = new AbortController()
    const reached = new Promise<void>((done) => {
      asked = done
    })
    const args = { name: 'ai_generate', arguments: { type: 'text', prompt: 'A name for a goblin' } }
    let hear = (_news: unknown) => {}
    const news = new Promise((done) => {
      hear = done
    })
    const pending = client.callTool(args, { signal: stop.signal, onprogress: (progress) => hear(progress) })
    await reached
    // Every five seconds.
    if (ALL) t.match(await news, { progress: Number, total: 1, message: 'generating' })
    const held = await app.credits.balance(ada.id)
    t.ok(held.available < balance, 'the price is held')
    stop.abort()
    await t.rejects(pending)
    for (;;) {
      const { available } = await app.credits.balance(ada.id)
      if (available === balance) break
      await new Promise((next) => setImmediate(next))
    }
    t.pass('the price is released')
    t.notMatch(JSON.stringify(provider.requests), token as string, "the assistant's token goes no further")
  })

  t.test('pages show how to connect an assistant', async (t) => {
    for (const path of ['/settings/connected', `/games/${game.slug}/integrate`]) {
      const { text } = await ada.get(path)
      t.match(text, `claude mcp add --transport http gameyard ${portal}/mcp`, path)
      t.match(text, /href="cursor:\/\/anysphere\.cursor-deeplink/, path)
    }
  })
})
