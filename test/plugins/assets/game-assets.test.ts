// An asset of a game: the makers of the game read and change it, while it stays its owner's.
import t, { type Test } from 'tap'
import type { Client, PlatformOptions, PlayerClient } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { startTeam } from '../../kit/team.ts'
import { zipOf } from '../deploy/zip-writer.ts'
import { assertCountsHold } from '../quotas/recounting.ts'
import { form } from './kit.ts'
import { sheet } from './models.ts'

async function upload(client: Client, file: Uint8Array, fields: Record<string, string>, name?: string) {
  const { payload, headers } = form(file, fields, name)
  return client.request('POST', '/api/assets', payload, { headers })
}

const READS = ['', '/file', '/file?variant=source', '/thumbnail', '/manifest', '/animation/walk']
const readsOf = async (client: Client, path: string) =>
  Promise.all(READS.map(async (rest) => (await client.get(`${path}${rest}`)).status))
const titles = ({ body }: { body: { assets: { title: string }[] } }) => body.assets.map(({ title }) => title)

async function makersReadAndChange(t: Test, options: PlatformOptions = {}) {
  const { platform, app, owner, maker, former, tester, other, game, program, makersProgram } = await startTeam(
    t,
    options,
  )
  const model = await sheet(3)
  const uploaded = await upload(program, model, { title: 'Rock', gameId: game.slug })
  t.match(uploaded, { status: 201, body: { gameId: game.id, ownerId: owner.id, visibility: 'private' } })
  const { body: asset } = uploaded
  await app.assets.preparation.run(asset.id, new AbortController().signal)
  const path = `/api/assets/${asset.id}`

  const all = [200, 200, 200, 200, 200, 422]
  const none = READS.map(() => 404)
  t.same(await readsOf(owner, path), all)
  t.same(await readsOf(maker, path), all, 'its makers read it')
  for (const [who, client] of Object.entries({ former, tester, other, visitor: platform.stranger })) {
    t.same(await readsOf(client, path), none, `not the ${who}`)
    t.equal((await client.get('/assets/rock')).status, 404, `nor its page for the ${who}`)
    t.equal((await client.get(`/api/assets?gameId=${game.id}`)).status, client === platform.stranger ? 401 : 404)
  }
  const listed = await makersProgram.get(`/api/assets?gameId=${game.slug}`)
  t.match(listed, { status: 200, body: { assets: [{ id: asset.id, gameId: game.id }] } })
  t.same(titles(await makersProgram.get(`/api/assets?gameId=${game.id}&owner=me`)), [], 'and none of their own')
  t.same(titles(await makersProgram.get('/api/assets?owner=me')), [])
  const unscoped = await platform.program(maker, ['games:read'])
  t.equal((await unscoped.get(`/api/assets?gameId=${game.id}`)).status, 403)

  t.match(await makersProgram.patch(path, { title: 'Stone', slug: 'stone' }), { status: 200, body: { slug: 'stone' } })
  t.match(await makersProgram.post(`${path}/publish`), { status: 200, body: { ownerId: owner.id, gameId: game.id } })
  t.equal((await tester.get(`${path}/file`)).status, 200, 'what is public, everybody reads')
  for (const client of [tester, other, former, platform.stranger]) {
    t.match(await client.get(path), { status: 200, body: { gameId: null } }, 'without its game')
  }
  t.match((await platform.stranger.get('/api/assets')).body, { assets: [{ id: asset.id, gameId: null }] })
  t.match((await other.get('/api/assets')).body, { assets: [{ id: asset.id, gameId: null }] })
  t.equal((await makersProgram.post(`${path}/unpublish`)).status, 200)
  const reserved = await upload(makersProgram, model, { title: 'Stone' })
  t.not(reserved.body.slug, 'stone', "its addresses stay its owner's")
  t.equal((await makersProgram.delete(`/api/assets/${reserved.body.id}`)).status, 204)

  const ownerOnly = { status: 403, body: { error: { code: 'owner_only' } } }
  t.match(await makersProgram.delete(path), ownerOnly)
  t.match(await makersProgram.post(`${path}/appeal`, { text: 'It is mine.' }), ownerOnly)
  for (const client of [tester, former, other]) {
    t.equal((await client.patch(path, { title: 'Taken' })).status, 404)
    t.equal((await client.post(`${path}/publish`)).status, 404)
    t.equal((await client.delete(path)).status, 404)
  }
  t.match(await program.get(path), { body: { title: 'Stone', visibility: 'private' } })
  t.match(
    (await program.get(`/api/games/${game.id}/activity`)).body.activity.slice(0, 4),
    [
      { action: 'asset.change', target: asset.id, detail: 'Stone: visibility', by: { playerId: maker.id } },
      { action: 'asset.change', detail: 'Stone: visibility' },
      { action: 'asset.change', detail: 'Stone: title, slug' },
      { action: 'asset.add', detail: 'Rock', by: { playerId: owner.id } },
    ],
    'the game remembers who',
  )
  await assertCountsHold(t, app)
}

t.test('the makers of a game read and change its assets, and nobody else learns of them', (t) => makersReadAndChange(t))
t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await makersReadAndChange(t, { config })
})

t.test('the files of a pack and the clips of a model are for the makers too', async (t) => {
  const { maker, tester, former, other, game, program, makersProgram } = await startTeam(t)
  const zip = zipOf({ 'readme.txt': Buffer.from('Hello'), 'rock.glb': await sheet(3) })
  const { body: kit } = await upload(program, zip, { title: 'Kit', gameId: game.id }, 'kit.zip')
  const files = ['/files/readme.txt', '/file?path=rock.glb', '/file']
  const ask = (client: Client, path: string) => client.get(`/api/assets/${kit.id}${path}`)
  t.match(await makersProgram.get(`/api/assets/${kit.id}`), { body: { kind: 'pack', files: { length: 2 } } })
  for (const path of files) {
    t.equal((await ask(maker, path)).status, 200, path)
    for (const client of [tester, former, other]) t.equal((await ask(client, path)).status, 404, path)
  }
  const animate = (client: Client) => client.post(`/api/assets/${kit.id}/animations`, { preset: 'walk' })
  t.equal((await animate(makersProgram)).status, 422, 'a pack has no rig')
  t.equal((await animate(other)).status, 404)
  const remove = (client: Client) => client.delete(`/api/assets/${kit.id}/animations?from=${kit.id}&clip=Walk`)
  t.equal((await remove(makersProgram)).body.error.message, 'There is no such animation.')
  t.equal((await remove(other)).body.error.message, 'There is no such asset.')
})

t.test('only its owner puts an asset into a game; it and the owner of the game take it out', async (t) => {
  const { owner, maker, game, program, makersProgram, programs, platform } = await startTeam(t)
  const [, , formersProgram, , othersProgram] = programs as Client[] as [Client, Client, Client, Client, Client]
  const theirs = await platform.game(maker, { title: 'Solo', visibility: 'private' })
  const { body: rock } = await upload(program, await sheet(3), { title: 'Rock', gameId: game.id })
  const { body: tree } = await upload(makersProgram, await sheet(4), { title: 'Tree' })
  const notFound = { status: 404, body: { error: { code: 'not_found' } } }
  const ownerOnly = { status: 403, body: { error: { code: 'owner_only' } } }

  t.match(await upload(othersProgram, await sheet(3), { title: 'Gift', gameId: game.id }), notFound)
  t.match(await upload(formersProgram, await sheet(3), { title: 'Gift', gameId: game.id }), notFound)
  t.same(titles(await othersProgram.get('/api/assets?owner=me')), [], 'nothing was kept')
  t.match(await makersProgram.patch(`/api/assets/${rock.id}`, { gameId: theirs.id }), ownerOnly, 'not into their own')
  t.match(await makersProgram.patch(`/api/assets/${rock.id}`, { gameId: null }), ownerOnly)
  t.equal((await program.get(`/api/assets/${rock.id}`)).body.gameId, game.id)
  t.match(await makersProgram.patch(`/api/assets/${rock.id}`, { gameId: game.id, title: 'Boulder' }), { status: 200 })
  for (const slug of ['cliff', 'rock']) {
    t.match(await makersProgram.patch(`/api/assets/${rock.id}`, { slug }), { status: 200, body: { slug } })
  }
  t.match(await program.patch(`/api/assets/${rock.id}`, { gameId: theirs.id }), notFound, 'a game of somebody else')
  t.match(await program.patch(`/api/assets/${rock.id}`, { gameId: '' }), { status: 400 })

  t.match(await makersProgram.patch(`/api/assets/${tree.id}`, { gameId: game.slug }), { body: { gameId: game.id } })
  t.match(await program.patch(`/api/assets/${tree.id}`, { title: 'Oak' }), { status: 200 })
  t.match(await program.patch(`/api/assets/${tree.id}`, { gameId: null }), { status: 200, body: { gameId: null } })
  t.equal((await program.get(`/api/assets/${tree.id}`)).status, 404, 'from then on it is the maker’s alone')

  await makersProgram.patch(`/api/assets/${tree.id}`, { gameId: game.id })
  await owner.delete(`/api/games/${game.id}/members/${maker.id}`)
  t.match(await makersProgram.get(`/api/assets/${tree.id}`), { status: 200, body: { gameId: game.id } })
  t.match(await program.get(`/api/assets/${tree.id}`), { status: 200 }, 'what a former maker brought stays')
  t.equal((await makersProgram.get(`/api/assets/${rock.id}`)).status, 404)
  t.match(await makersProgram.patch(`/api/assets/${tree.id}`, { gameId: game.id, title: 'Elm' }), { status: 200 })
  t.match(await makersProgram.patch(`/api/assets/${tree.id}`, { gameId: null }), { body: { gameId: null } })
  t.match(await makersProgram.patch(`/api/assets/${tree.id}`, { gameId: game.id }), notFound, 'and can’t come back')
})

t.test('the assets of a game outlive it, and stay with their owners', async (t) => {
  const { game, program, makersProgram } = await startTeam(t)
  const { body: rock } = await upload(program, await sheet(3), { title: 'Rock', gameId: game.id })
  const { body: tree } = await upload(makersProgram, await sheet(4), { title: 'Tree', gameId: game.id })
  await program.delete(`/api/games/${game.id}`)
  t.equal((await makersProgram.get(`/api/assets/${rock.id}`)).status, 404, 'a deleted game has no makers')
  t.equal((await makersProgram.get(`/api/assets/${tree.id}`)).status, 200)
  await program.post(`/api/games/${game.id}/restore`)
  t.equal((await makersProgram.get(`/api/assets/${rock.id}`)).status, 200, 'a restored one has them again')

  await program.delete(`/api/games/${game.id}?forever=true&confirm=${game.slug}`)
  t.match((await program.get('/api/assets?owner=me')).body.assets, [{ id: rock.id, gameId: null }])
  t.match((await makersProgram.get('/api/assets?owner=me')).body.assets, [{ id: tree.id, gameId: null }])
  t.equal((await makersProgram.get(`/api/assets/${rock.id}`)).status, 404)
})

t.test('a moderator decides about no asset of a game that the moderator makes', async (t) => {
  const { app, maker, other, game, program } = await startTeam(t)
  const rock = await upload(program, await sheet(3), { title: 'Rock', visibility: 'public', gameId: game.id })
  for (const { id } of [maker, other]) await app.identity.administration.setRole(id, 'moderator')
  t.equal((await maker.submit('/admin/assets/rock/suspend', { reason: 'Stolen.' })).status, 403)
  t.equal((await other.submit('/admin/assets/rock/suspend', { reason: 'Stolen.' })).status, 303)
  t.equal((await maker.submit('/admin/assets/rock/lift', {})).status, 403)
  t.match(await maker.get(`/api/assets/${rock.body.id}`), { status: 200, body: { suspended: { reason: 'Stolen.' } } })
  t.match((await maker.get('/assets/rock')).text, /Stolen\./)
  t.notMatch((await maker.get('/assets/rock')).text, /Your answer/)
  t.equal((await other.get(`/api/assets/${rock.body.id}`)).status, 451)
})

t.test('a transfer of the game leaves its assets, and what they count, with their owners', async (t) => {
  const { app, owner, maker, game, program, makersProgram } = await startTeam(t)
  const { body: rock } = await upload(program, await sheet(3), { title: 'Rock', gameId: game.id })
  const counts = async (player: PlayerClient) =>
    (await app.quotas.bytesByKind(player.id)).find(({ kind }) => kind === 'assets')?.bytes ?? 0
  const before = await counts(owner)
  await program.post(`/api/games/${game.id}/transfer`, { playerId: maker.id })
  t.equal((await makersProgram.post(`/api/games/${game.id}/transfer/accept`)).status, 204)
  t.same([await counts(owner), await counts(maker)], [before, 0])
  t.match((await makersProgram.get(`/api/assets/${rock.id}`)).body, { ownerId: owner.id, gameId: game.id })
  t.match(await makersProgram.delete(`/api/assets/${rock.id}`), { status: 403 })
  t.match(await makersProgram.patch(`/api/assets/${rock.id}`, { gameId: null }), { body: { gameId: null } })
  await assertCountsHold(t, app)
})
