// A game gets another owner: with its deploys, saves and scores, and with everything that counts for the owner.
import t, { type Test } from 'tap'
import { OwnerQuota } from '../../../plugins/saves/owner-quota.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { build, deploy, filesOf } from '../deploy/build.ts'
import { assertCountsHold, noteDeployCounts } from '../quotas/recounting.ts'
import { enter } from '../saves/kit.ts'
import { png, sendFile } from './pictures.ts'

const DAY = 86_400_000

async function team(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp({ name: 'Olu' })
  const maker = await platform.signUp({ name: 'Mae' })
  const other = await platform.signUp({ name: 'Ned' })
  const game = await platform.game(owner, { title: 'Duo' })
  await join(owner, game, 'maker', [maker, other])
  const path = `/api/games/${game.id}/transfer`
  const offer = (to: PlayerClient = maker) => owner.post(path, { playerId: to.id })
  const ownerIs = async () =>
    (await owner.get(`/api/games/${game.id}/members`)).body.members.find(
      ({ role }: { role: string }) => role === 'owner',
    ).player.name
  return { platform, app: platform.app, owner, maker, other, game, path, offer, ownerIs }
}

/** Returns what counts for a player, by kind. */
const countsOf = async ({ app }: Platform, { id }: PlayerClient) =>
  Object.fromEntries((await app.quotas.bytesByKind(id)).map(({ kind, bytes }) => [kind, bytes]))

async function everythingFollows(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const { platform, app, owner, maker, game, path, offer } = await team(t, options)
  const [program, makersProgram] = [await platform.program(owner), await platform.program(maker)]
  const first = await deploy(platform, program, game.id, build('one'))
  await deploy(platform, makersProgram, game.id, { ...build('one'), 'more.js': 'more' })
  // A deploy of the time before deploys named who made them.
  await app.db.execute('update deploys set player_id = null where id = ?', [first.deployId])
  const another = await platform.game(maker, { title: 'Solo' })
  await deploy(platform, makersProgram, another.id, build('one'))
  await sendFile(owner, `/api/games/${game.id}/media`, png(640, 360))
  await app.drafts.write(owner.id, game.id, { path: 'draft.js', bytes: Buffer.from('a draft') })
  const player = await enter(platform, platform.gameHost(game.slug))
  await player.put('state', 'x'.repeat(500))
  await new OwnerQuota(app).count(new AbortController().signal)
  await player.put('state', 'x'.repeat(900))
  const before = { owner: await countsOf(platform, owner), maker: await countsOf(platform, maker) }
  t.match(before.owner, { deploys: Number, media: Number, drafts: Number, saves: Number })

  const offered = await offer()
  t.match(offered, { status: 201, body: { from: { name: 'Olu' }, to: { name: 'Mae' }, counts: { games: 1 } } })
  const told = offered.body.counts.storedBytes
  t.equal(
    told,
    Object.values(before.owner).reduce((sum, bytes) => sum + bytes, 0),
  )
  t.same((await makersProgram.get(path)).body, offered.body, 'the receiver reads the same')
  platform.clock.advance(1000)
  t.match(await makersProgram.post(`${path}/accept`), { status: 204, text: '' })

  t.same(await countsOf(platform, owner), {}, 'nothing counts for the former owner')
  const after = await countsOf(platform, maker)
  t.equal(after.media, before.owner.media)
  t.equal(after.drafts, before.owner.drafts)
  t.equal(after.saves, before.owner.saves)
  const shared = (before.owner.deploys ?? 0) + (before.maker.deploys ?? 0) - (after.deploys ?? 0)
  t.ok(shared > 0, 'contents that the new owner had already count once')
  await new OwnerQuota(app).count(new AbortController().signal)
  t.ok(((await countsOf(platform, maker)).saves ?? 0) > (before.owner.saves ?? 0), 'what was not counted yet follows')
  await assertCountsHold(t, app)

  t.match((await owner.get(`/api/games/${game.id}/members`)).body.members, [
    { player: { name: 'Mae' }, role: 'owner' },
    { player: { name: 'Ned' }, role: 'maker' },
    { player: { name: 'Olu' }, role: 'maker' },
  ])
  t.match((await owner.get(`/api/games/${game.id}/deploys`)).body.deploys, [
    { state: 'live', by: { name: 'Mae' } },
    { state: 'superseded', by: { name: 'Olu' } },
  ])
  t.equal((await program.post(`/api/deploy/${first.deployId}/rollback`)).status, 200, 'the former owner deploys')
  t.equal((await program.post(`/api/games/${game.id}/secret`)).status, 403, 'and has no new secret')
  t.equal((await makersProgram.post(`/api/games/${game.id}/secret`)).status, 200)
  t.equal((await makersProgram.patch(`/api/games/${game.id}`, { title: 'Ours', slug: 'ours' })).status, 200)
  t.match((await app.identity.apps.list(maker.id, { limit: 10 })).apps, [{ name: 'Solo' }, { name: 'Ours' }])
  t.same((await app.identity.apps.list(owner.id, { limit: 10 })).apps, [])
  t.match((await owner.get(`/api/games/${game.id}/activity`)).body.activity, [
    {},
    {},
    {},
    { action: 'game.transfer', target: maker.id, detail: 'Olu → Mae', by: { playerId: maker.id } },
    { action: 'transfer.offer', target: maker.id, by: { playerId: owner.id } },
  ])
  await deploy(platform, program, game.id, build('two'))
  t.same(await countsOf(platform, owner), {}, 'what the former owner deploys counts for the owner')
  t.equal((await makersProgram.delete(`/api/games/${game.id}?forever=true&confirm=ours`)).status, 204)
  await assertCountsHold(t, app)
}

t.test('a maker accepts a game, and everything follows', (t) => everythingFollows(t))

t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await everythingFollows(t, { config })
})

t.test('an offer that cannot be made or accepted says why in a sentence, and changes nothing', async (t) => {
  const { platform, app, owner, maker, other, game, path, offer, ownerIs } = await team(t)
  const stranger = await platform.signUp()
  const tester = await platform.signUp()
  await join(owner, game, 'tester', [tester])
  const refused = async (asked: Promise<unknown>, status: number, code: string, sentence: RegExp) => {
    t.match(await asked, { status, body: { error: { code, message: sentence } } }, String(sentence))
    t.equal(await ownerIs(), 'Olu')
  }
  for (const player of [stranger, tester, owner]) {
    await refused(offer(player), 409, 'not_a_maker', /only to one of its makers; make this player a maker first\./)
  }
  await refused(maker.post(path, { playerId: other.id }), 403, 'owner_only', /Only the owner/)
  await refused(maker.post(`${path}/accept`), 404, 'no_transfer', /not offered to anybody/)
  await app.db.execute('update players set disabled = ? where id = ?', [true, maker.id])
  await refused(offer(), 409, 'maker_disabled', /The account of Mae is disabled\./)
  await app.db.execute('update players set disabled = ? where id = ?', [false, maker.id])

  t.equal((await offer()).status, 201)
  await refused(offer(other), 409, 'transfer_open', /offered to Mae already; take that back first\./)
  await refused(offer(), 409, 'transfer_open', /offered to Mae already/)
  for (const player of [other, owner]) {
    await refused(player.post(`${path}/accept`), 403, 'transfer_of_another', /offered to another maker\./)
  }
  t.equal((await other.get(path)).status, 403)
  for (const player of [stranger, tester]) {
    t.equal((await player.get(path)).status, 404)
    t.equal((await player.post(`${path}/accept`)).status, 404)
    t.equal((await player.delete(path)).status, 404)
  }
  t.equal((await other.delete(path)).status, 403)

  t.equal((await owner.delete(path)).status, 204, 'taken back')
  await refused(maker.post(`${path}/accept`), 404, 'no_transfer', /taken back or declined\./)
  t.equal((await offer()).status, 201)
  t.equal((await maker.delete(path)).status, 204, 'declined')
  await refused(maker.post(`${path}/accept`), 404, 'no_transfer', /taken back or declined\./)

  t.equal((await offer()).status, 201)
  await app.db.execute('update games set suspended_at = ? where id = ?', [platform.clock.now(), game.id])
  await refused(maker.post(`${path}/accept`), 451, 'suspended', /suspended this game/)
  await app.db.execute('update games set suspended_at = null where id = ?', [game.id])
  t.equal((await owner.patch(`/api/games/${game.id}/members/${maker.id}`, { role: 'tester' })).status, 204)
  t.equal((await owner.patch(`/api/games/${game.id}/members/${maker.id}`, { role: 'maker' })).status, 204)
  await refused(maker.post(`${path}/accept`), 404, 'no_transfer', /not offered/)

  t.equal((await offer()).status, 201)
  platform.clock.advance(7 * DAY - 1)
  t.equal((await maker.get(path)).status, 200)
  platform.clock.advance(1)
  await refused(
    maker.post(`${path}/accept`),
    410,
    'transfer_ended',
    /valid for a week; the owner can offer the game again\./,
  )
  const program = await platform.program(owner)
  t.equal((await program.post(path, { playerId: other.id })).status, 201, 'an expired offer is in nobody’s way')
  t.equal((await owner.delete(`/api/games/${game.id}`)).status, 204)
  t.equal((await other.post(`${path}/accept`)).status, 404, 'of a deleted game')
  t.equal((await owner.post(`/api/games/${game.id}/restore`)).status, 200)
  await refused(other.post(`${path}/accept`), 404, 'no_transfer', /not offered/)
})

t.test('the quotas of the new owner decide, and nothing is changed when they refuse', async (t) => {
  const { platform, app, owner, maker, game, path, offer, ownerIs } = await team(t)
  await deploy(platform, await platform.program(owner), game.id, build('one'))
  const before = await countsOf(platform, owner)
  const by = { id: owner.id, role: 'admin' } as const
  await app.quotas.limits.change(maker.id, { gamesPerPlayer: 0 }, by)
  await offer()
  t.match(await maker.post(`${path}/accept`), {
    status: 403,
    body: { error: { code: 'quota_exceeded', message: /You have 0 games, with deleted ones, and may have 0/ } },
  })
  await app.quotas.limits.change(maker.id, { gamesPerPlayer: 1, storageBytesPerPlayer: 10 }, by)
  t.match(await maker.post(`${path}/accept`), {
    status: 403,
    body: { error: { code: 'quota_exceeded', message: /more than you store now/ } },
  })
  t.equal(await ownerIs(), 'Olu')
  t.same(await countsOf(platform, owner), before)
  t.same(await countsOf(platform, maker), {})
  await app.quotas.limits.change(maker.id, { storageBytesPerPlayer: 100_000 }, by)
  t.equal((await maker.post(`${path}/accept`)).status, 204)
  t.same(await countsOf(platform, maker), before)
  await assertCountsHold(t, app)
})

t.test('the transaction of a transfer reads only what came after the count before it', async (t) => {
  for (const change of ['nothing', 'a deploy', 'a removal'] as const) {
    const { platform, app, owner, maker, game, path, offer } = await team(t)
    const program = await platform.program(owner)
    const first = await deploy(platform, program, game.id, build('one'))
    const second = await deploy(platform, program, game.id, { ...build('one'), 'more.js': 'more' })
    await offer()
    const counts = noteDeployCounts(app, async () => {
      if (change === 'a deploy') await deploy(platform, program, game.id, build('three'))
      if (change === 'a removal') t.equal((await owner.delete(`/api/deploy/${first.deployId}`)).status, 204)
    })
    t.equal((await maker.post(`${path}/accept`)).status, 204)
    const both = [first.deployId, second.deployId]
    t.same(counts[0], both, 'before the transaction')
    const live = (await app.games.get(game.id)).liveDeployId
    t.same(counts[1], { nothing: [], 'a deploy': [live], 'a removal': [second.deployId] }[change], change)
    t.same((await countsOf(platform, owner)).deploys ?? 0, 0)
    await assertCountsHold(t, app, change)
  }
})

async function atOnce(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const { platform, app, owner, maker, other, game, path, offer } = await team(t, options)
  const program = await platform.program(owner)
  await deploy(platform, program, game.id, build('one'))
  const offers = await Promise.all([offer(), offer(other)])
  t.same(offers.map(({ status }) => status).toSorted(), [201, 409], 'one of two offers is made')
  const receiver = offers[0]?.status === 201 ? maker : other
  const done = await Promise.all([
    receiver.post(`${path}/accept`),
    receiver.post(`${path}/accept`),
    deploy(platform, program, game.id, build('two')).catch((error: unknown) => error),
    app.drafts.write(owner.id, game.id, { path: 'draft.js', bytes: Buffer.from('draft') }),
  ])
  t.same([done[0].status, done[1].status].toSorted(), [204, 404], 'and accepted once')
  await deploy(platform, program, game.id, build('three'))
  t.same((await countsOf(platform, owner)).deploys ?? 0, 0)
  await assertCountsHold(t, app)
}

t.test('two transfers at once, and a deploy meanwhile: one of each, and the counts hold', (t) => atOnce(t))

t.test('so they do on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await atOnce(t, { config })
})

t.test('a deploy that is announced while the game gets another owner is refused, and counts for nobody', async (t) => {
  const { platform, app, owner, maker, game, path, offer } = await team(t)
  const program = await platform.program(owner)
  await offer()
  // Between the look-up of the game and the transaction the announcement asks for the free space.
  const [asked, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { storage } = app
  const room = storage.room?.bind(storage)
  storage.room = async () => {
    asked.resolve()
    await changed.promise
    return (await room?.()) ?? { free: Number.MAX_SAFE_INTEGER, reserve: 0 }
  }
  const announced = { gameId: game.id, files: filesOf(build('late')) }
  const late = program.post('/api/deploy', announced)
  await asked.promise
  t.equal((await maker.post(`${path}/accept`)).status, 204)
  changed.resolve()
  t.match(await late, { status: 409, body: { error: { code: 'owner_changed', message: /try again\.$/ } } })
  t.same([await countsOf(platform, owner), await countsOf(platform, maker)], [{}, {}])
  t.equal((await program.post('/api/deploy', announced)).status, 200, 'again')
  t.match([await countsOf(platform, owner), await countsOf(platform, maker)], [{}, { deploys: Number }])
  await assertCountsHold(t, app)
})

t.test('offers and new owners are among the messages of those concerned', async (t) => {
  const { owner, maker, other, path, offer } = await team(t)
  const said = async (player: PlayerClient) => (await player.get('/settings/messages')).text
  await offer()
  t.match(await said(maker), /You are offered to own Duo[\s\S]*\/games\/duo\/team/)
  t.equal((await maker.delete(path)).status, 204)
  t.match(await said(owner), /Mae does not take Duo/)
  await offer()
  await maker.post(`${path}/accept`)
  t.match(await said(maker), /You own Duo now/)
  t.match(await said(owner), /Mae owns Duo now/)
  t.match(await said(other), /No messages/)
})
