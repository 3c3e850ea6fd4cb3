// The SDK's functions for saves, as a game's own server calls them, and for boards, as the owner's program does.
import t from 'tap'
import { createClient } from '../../clients/sdk/index.ts'
import { exchange, obtainCode, REDIRECT_URI } from '../kit/oauth.ts'
import { startPlatform } from '../kit/platform.ts'

t.test("a game's server keeps saves of its player by the SDK", async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const player = await platform.signUp()
  const game = await platform.game(owner, { title: 'Elsewhere', url: 'https://game.example' })
  const program = await platform.program(owner)
  const { apps } = (await program.get('/api/oauth/apps')).body
  const { id } = apps.find((app: { clientId: string }) => app.clientId === game.clientId)
  await program.patch(`/api/oauth/apps/${id}`, { redirectUris: [REDIRECT_URI] })
  const app = { id, clientId: game.clientId, clientSecret: game.oauth.clientSecret }
  const code = await obtainCode(player, app, { scope: 'saves' })
  const { body } = await exchange(platform.stranger, app, code)
  const client = createClient({ baseUrl: platform.portal, token: body.access_token })

  t.equal(await client.saves.get('progress'), null)
  t.match(await client.saves.put('progress', { level: 1 }, { if: null }), { key: 'progress', version: 1, size: 11 })
  await t.rejects(client.saves.put('progress', { level: 2 }, { if: null }), { status: 412, code: 'save_conflict' })
  const found = await client.saves.get('progress')
  t.same([found?.version, await found?.response.json()], [1, { level: 1 }])
  t.match(await client.saves.put('progress', { level: 2 }, { if: 1 }), { version: 2 })
  t.match(await client.saves.restore('progress', 1), { version: 3 })
  t.match((await client.saves.versions('progress')).versions, [{ version: 3 }, { version: 2 }, { version: 1 }])
  await client.saves.put('bytes', new Uint8Array([1, 2, 3]))
  await client.saves.put('picture', new Blob(['<svg/>'], { type: 'image/svg+xml' }))
  t.match((await client.saves.list()).saves, [
    { key: 'bytes', size: 3, contentType: 'application/octet-stream' },
    { key: 'picture', size: 6, contentType: 'image/svg+xml' },
    { key: 'progress', version: 3, contentType: 'application/json' },
  ])
  await client.saves.delete('progress', { if: 3 })
  t.equal(await client.saves.get('progress'), null)
})

t.test("the owner's program makes boards and cleans them by the SDK", async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, { title: 'Pong' })
  const { boards } = createClient({ baseUrl: platform.portal, token: (await platform.program(owner)).token as string })
  t.match(await boards.put(game.slug, 'fastest', { title: 'Fastest', order: 'asc' }), { id: 'fastest', order: 'asc' })
  t.match(await boards.put(game.id, 'fastest', { title: 'Fastest lap' }), { title: 'Fastest lap', order: 'asc' })
  t.match(await boards.list(game.slug), [{ id: 'fastest' }])
  const players = [await platform.signUp({ name: 'Bo' }), await platform.signUp({ name: 'Cy' })]
  for (const [index, { id: playerId }] of players.entries()) {
    const score = { gameId: game.id, boardId: 'fastest', playerId, score: 10 + index, writer: 'players' } as const
    await platform.app.scores.submit(score)
  }
  const anybody = createClient({ baseUrl: platform.portal })
  const names = async () => {
    const found: string[] = []
    // One entry a page, so that the list follows the cursor.
    for await (const { player, rank } of anybody.boards.scores(game.slug, 'fastest', { limit: 1 }))
      found.push(`${rank} ${player.name}`)
    return found
  }
  t.same(await names(), ['1 Bo', '2 Cy'])
  const [bo, cy] = players.map(({ id }) => id) as [string, string]
  await boards.deleteScore(game.slug, 'fastest', bo)
  t.same(await names(), ['1 Cy'])
  const submit = () =>
    platform.app.scores.submit({ gameId: game.id, boardId: 'fastest', playerId: cy, score: 9, writer: 'players' })
  await boards.exclude(game.slug, 'fastest', cy)
  await t.rejects(submit(), { code: 'kept_off_board' })
  await boards.include(game.slug, 'fastest', cy)
  await submit()
  t.same(await names(), ['1 Cy'])
  await boards.delete(game.slug, 'fastest')
  await t.rejects(names(), { status: 404, code: 'not_found' })
})
