// A picture that an assistant generates is kept as an asset, and goes from there into a game.
import t from 'tap'
import { aiConfig, openai, PNG, startAiServer } from '../../kit/ai-server.ts'
import { startPlatform } from '../../kit/platform.ts'
import { connect } from './client.ts'

t.test('a generated picture becomes an asset, once for each generation', async (t) => {
  const provider = await startAiServer(t, openai('Hello.'))
  const platform = await startPlatform(t, {
    config: { ai: aiConfig(provider), limits: { assetsPerPlayer: 2 } },
    listen: true,
  })
  const ada = await platform.signUp({ name: 'Ada' })
  await platform.app.credits.grant(ada.id, 100, { kind: 'grant', description: 'For pictures', key: 'pictures' })
  const game = await platform.game(ada, { title: 'Boats' })
  const { call } = await connect(t, platform, (await platform.program(ada)).token as string)
  const picture = { type: 'image', prompt: 'A paper boat\non a pond.' }
  const available = async () => (await call('credits')).json.balance

  const plain = await call('ai_generate', picture)
  t.match(plain, { refused: false, json: { type: 'image', result: { bytes: PNG.length } } })
  t.notOk('asset' in plain.json, 'it is not kept without a word')

  const args = { ...picture, asset: { title: 'Boat', gameId: game.slug }, idempotencyKey: 'boat-1' }
  const made = await call('ai_generate', args)
  t.match(made, {
    refused: false,
    json: { asset: { id: /^ast_/, slug: 'boat', fileUrl: /\/api\/assets\/boat\/file$/ } },
  })
  const left = await available()
  t.same((await call('ai_generate', args)).json, made.json, 'a repeated call has the same asset')
  t.equal(await available(), left, 'and costs nothing')
  t.match((await call('asset_get', { id: 'boat' })).json, {
    kind: 'image',
    visibility: 'private',
    gameId: game.id,
    description: picture.prompt,
    source: { kind: 'generation', jobId: made.json.id },
  })
  const files = { 'index.html': '<img src="boat.png">', 'boat.png': { from: made.json.asset.id } }
  t.match(await call('deploy_files', { gameId: game.slug, files }), { refused: false })
  t.equal((await call('game_read_file', { id: game.id, path: 'boat.png' })).json.size, PNG.length)

  const untitled = await call('ai_generate', { ...picture, asset: { visibility: 'public' } })
  t.match(untitled.json, { asset: { slug: 'a-paper-boat-on-a-pond' } })
  t.match((await platform.stranger.get('/api/assets/a-paper-boat-on-a-pond')).body, {
    title: 'A paper boat on a pond.',
  })

  await platform.app.assets.changes.remove(ada.id, untitled.json.asset.id)
  const emoji = await call('ai_generate', { ...picture, prompt: `${'x'.repeat(79)}🚢🚢`, asset: {} })
  t.equal((await call('asset_get', { id: emoji.json.asset.id })).json.title, `${'x'.repeat(79)}🚢`, 'no emoji is cut')

  t.test('what can be refused is refused before it is paid', async (t) => {
    const before = await available()
    t.match(await call('ai_generate', { type: 'text', prompt: 'Hi', asset: {} }), {
      refused: true,
      json: { error: { code: 'invalid_request', message: /type image only/ } },
    })
    t.match(await call('ai_generate', { ...picture, asset: { gameId: 'nowhere' } }), {
      refused: true,
      json: { error: { code: 'not_found' } },
    })
    const { token } = await platform.program(ada, ['ai:generate'])
    const other = await connect(t, platform, token as string)
    t.match(await other.call('ai_generate', { ...picture, asset: {} }), {
      refused: true,
      json: { error: { code: 'missing_scope', message: /assets:write/ } },
    })
    t.equal(await available(), before)
  })

  t.test('a picture that can not be kept is still the answer', async (t) => {
    const answer = await call('ai_generate', { ...picture, asset: {} })
    t.match(answer, {
      refused: false,
      json: { asset: null, assetError: { code: 'quota_exceeded' }, result: { bytes: PNG.length } },
    })
  })
})
