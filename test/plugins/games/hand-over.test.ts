// Games that others make, too: when the account of the owner ends, and when it is disabled.
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { PASSWORD, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { build, deploy } from '../deploy/build.ts'
import { assertCountsHold, noteDeployCounts } from '../quotas/recounting.ts'

async function accountEnds(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const { app } = platform
  const owner = await platform.signUp({ name: 'Olu' })
  const maker = await platform.signUp({ name: 'Mae' })
  const tester = await platform.signUp({ name: 'Tim' })
  const [duo, trio, tested, solo] = [
    await platform.game(owner, { title: 'Duo' }),
    await platform.game(owner, { title: 'Trio' }),
    await platform.game(owner, { title: 'Tested' }),
    await platform.game(owner, { title: 'Solo' }),
  ]
  await join(owner, duo, 'maker', [maker])
  await join(owner, duo, 'tester', [tester])
  await join(owner, trio, 'maker', [maker])
  await join(owner, tested, 'tester', [tester])
  const program = await platform.program(owner)
  for (const game of [duo, solo]) await deploy(platform, program, game.id, build(game.id))

  const form = (await owner.get('/settings')).text
  t.match(form, /What becomes of Duo\?/)
  t.match(form, /What becomes of Trio\?/)
  t.match(form, /Hand it over to <bdi>Mae/)
  t.notMatch(form, /What becomes of (Tested|Solo)|over to <bdi>Tim/)
  const end = (decisions: Record<string, string>) =>
    owner.submit('/settings/delete', { password: PASSWORD, ...decisions })
  t.match(await end({}), { status: 400, text: /Hand it over, or delete it\./ })
  t.match(await end({ [`shared-${duo.id}`]: maker.id }), { status: 400, text: /say what becomes of Trio\./ })
  t.match(await end({ [`shared-${duo.id}`]: tester.id, [`shared-${trio.id}`]: 'delete' }), {
    status: 400,
    text: /Nothing was deleted\. A game goes only to one of its makers/,
  })
  const by = { id: owner.id, role: 'admin' } as const
  await app.quotas.limits.change(maker.id, { gamesPerPlayer: 0 }, by)
  const decided = { [`shared-${duo.id}`]: maker.id, [`shared-${trio.id}`]: 'delete' }
  t.match(await end(decided), { status: 400, text: /Mae may have no more games\./ })
  t.match((await owner.get('/api/games')).body.games, { length: 4 }, 'nothing has changed')
  t.equal((await maker.get(`/api/games/${duo.id}`)).body.role, 'maker')

  await app.quotas.limits.change(maker.id, { gamesPerPlayer: 1, storageBytesPerPlayer: 1 }, by)
  t.equal((await end(decided)).status, 303)
  t.match((await maker.get('/api/games')).body.games, [{ title: 'Duo', role: 'owner', makers: [{ name: 'Mae' }] }])
  t.equal((await maker.post(`/api/games/${duo.id}/secret`)).status, 200, 'with its application')
  t.match((await maker.get(`/api/games/${duo.id}/members`)).body.members, [
    { player: { name: 'Mae' }, role: 'owner' },
    { player: { name: 'Tim' }, role: 'tester' },
  ])
  t.match((await maker.get(`/api/games/${duo.id}/deploys`)).body.deploys, [{ state: 'live' }])
  for (const game of [trio, tested, solo]) t.equal((await maker.get(`/api/games/${game.id}`)).status, 404, game.title)
  t.ok((await app.quotas.quotasOf(maker.id)).storageBytesPerPlayer.used > 1, 'beyond the quota of storage')
  await assertCountsHold(t, app)
}

t.test('a player who ends the account decides about each game that others make', (t) => accountEnds(t))

t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await accountEnds(t, { config })
})

t.test('the staff hand over a game of a disabled owner, and nobody else’s', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const admin = await platform.admin()
  const owner = await platform.signUp({ name: 'Olu' })
  const maker = await platform.signUp({ name: 'Mae' })
  const other = await platform.signUp({ name: 'Ned' })
  const game = await platform.game(owner, { title: 'Duo' })
  await join(owner, game, 'maker', [maker, other])
  await deploy(platform, await platform.program(owner), game.id, build('one'))
  const path = `/admin/games/${game.id}/hand-over`
  const give = (by: PlayerClient, to = maker) => by.submit(path, { maker: to.id })
  t.match(await give(admin), { status: 409, text: /The account of the owner is not disabled/ })
  await app.identity.administration.setRole(other.id, 'moderator')
  t.equal((await give(other, other)).status, 403, 'a moderator who makes the game does not')

  await app.identity.administration.setDisabled(owner.id, true, { withContent: true })
  t.ok((await app.games.get(game.id)).suspended)
  t.match((await admin.get('/admin/games')).text, /Hand over: Duo/)
  t.match((await admin.get(path)).text, /Who should own it\?[\s\S]*Mae[\s\S]*Ned/)
  t.match(await admin.submit(path, {}), { status: 400, text: /Choose one of the makers\./ })
  t.match(await give(admin, admin), { status: 409, text: /only to one of its makers/ })
  t.equal((await give(admin)).status, 303)
  t.match(await app.games.get(game.id), { ownerId: maker.id, suspended: null })
  t.equal((await give(admin, other)).status, 409, 'the new owner is not disabled')
  t.match((await maker.get(`/api/games/${game.id}/activity`)).body.activity[0], {
    action: 'game.transfer',
    by: { kind: 'staff', name: null },
  })
  const [row] = await app.db.query<{ actor_id: string; after: string }>(
    `select actor_id, "after" from audit where action = 'game.transfer'`,
  )
  t.match(row, { actor_id: admin.id, after: new RegExp(maker.id) })
  await app.identity.administration.setDisabled(owner.id, false)
  t.match(await app.games.get(game.id), { suspended: null })
  await assertCountsHold(t, app)
})

t.test('the transaction of a hand-over reads only the deploys that came after the count before it', async (t) => {
  for (const way of ['the account ends', 'the account is disabled'] as const) {
    const platform = await startPlatform(t)
    const { app } = platform
    const admin = await platform.admin()
    const owner = await platform.signUp({ name: 'Olu' })
    const maker = await platform.signUp({ name: 'Mae' })
    const game = await platform.game(owner, { title: 'Duo' })
    await join(owner, game, 'maker', [maker])
    const program = await platform.program(maker)
    const before = await deploy(platform, program, game.id, build('before'))
    if (way === 'the account is disabled')
      await app.identity.administration.setDisabled(owner.id, true, { withContent: false })
    let since: string | undefined
    const counts = noteDeployCounts(app, async () => {
      since = (await deploy(platform, program, game.id, build('since'))).deployId
    })
    const { status } =
      way === 'the account ends'
        ? await owner.submit('/settings/delete', { password: PASSWORD, [`shared-${game.id}`]: maker.id })
        : await admin.submit(`/admin/games/${game.id}/hand-over`, { maker: maker.id })
    t.equal(status, 303, way)
    t.same(counts.slice(0, 2), [[before.deployId], [since]], 'before the transaction, and in it')
    t.equal((await app.games.get(game.id)).ownerId, maker.id)
    await assertCountsHold(t, app, way)
  }
})

/** What a node with an earlier version leaves of an ended account, since it knows no members. */
const leftBehind = (app: FastifyInstance, gameId: string, playerId = 'ply_00000000000000000000000000') =>
  app.db.execute("insert into game_members (game_id, player_id, role) values (?, ?, 'maker')", [gameId, playerId])

t.test('an owner is not asked about makers whose accounts ended on a node with an earlier version', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp({ name: 'Olu' })
  const game = await platform.game(owner, { title: 'Duo' })
  await leftBehind(platform.app, game.id)
  t.notMatch((await owner.get('/settings')).text, /What becomes of Duo\?/)
  t.equal((await owner.submit('/settings/delete', { password: PASSWORD })).status, 303)
})

t.test('members of ended accounts and of games that are gone are deleted, and no others', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const [owner, maker] = [await platform.signUp({ name: 'Olu' }), await platform.signUp({ name: 'Mae' })]
  const game = await platform.game(owner, { title: 'Duo' })
  await join(owner, game, 'maker', [maker])
  const members = () => app.db.query('select game_id, player_id, role from game_members')
  await leftBehind(app, game.id)
  await leftBehind(app, 'gam_00000000000000000000000000', maker.id)
  await app.games.members.purge()
  t.same(await members(), [{ game_id: game.id, player_id: maker.id, role: 'maker' }])
})
