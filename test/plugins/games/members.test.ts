import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { Client, type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'

const DAY = 86_400_000

/** Announces a build of one page. */
const announced = (gameId: string, text: string) => ({
  gameId,
  files: [
    { path: 'index.html', size: text.length, sha256: createHash('sha256').update(text).digest('hex') },
    { path: 'same.js', size: 4, sha256: createHash('sha256').update('same').digest('hex') },
  ],
})

/** Deploys a build of two files. @returns the answer to the announcement, with what had to be uploaded */
async function deploy(platform: Platform, program: Client, gameId: string, text: string) {
  const started = await program.post('/api/deploy', announced(gameId, text))
  const wanted = started.body.uploads.map(({ path }: { path: string }) => path)
  for (const { path, uploadUrl, method, headers } of started.body.uploads) {
    const payload = path === 'same.js' ? 'same' : text
    await platform.app.inject({ method, url: uploadUrl, headers, payload })
  }
  const finalized = await program.post(`/api/deploy/${started.body.deployId}/finalize`)
  return { deployId: started.body.deployId as string, wanted, status: finalized.status }
}

async function everyRole(t: Test, platform: Platform) {
  const { app, stranger } = platform
  const [owner, maker, tester, other] = [
    await platform.signUp({ name: 'Olu' }),
    await platform.signUp({ name: 'Mae' }),
    await platform.signUp(),
    await platform.signUp(),
  ]
  const game = await platform.game(owner, { title: 'Secret', visibility: 'private' })
  const [ownerProgram, program, otherProgram] = [
    await platform.program(owner),
    await platform.program(maker),
    await platform.program(other),
  ]
  t.equal((await program.get(`/api/games/${game.id}`)).status, 404, 'it is not theirs yet')
  await join(owner, game, 'maker', [maker])
  await join(owner, game, 'tester', [tester])

  t.match((await owner.get(`/api/games/${game.id}/members`)).body.members, [
    { player: { id: owner.id }, role: 'owner' },
    { player: { id: maker.id }, role: 'maker', since: /^20/ },
    { player: { id: tester.id }, role: 'tester', since: /^20/ },
  ])
  t.match((await program.get('/api/games')).body.games, [{ id: game.id }], 'among the games of the maker')
  t.same((await tester.get('/api/games')).body.games, [], 'and not of the tester')
  t.match(await program.patch(`/api/games/${game.id}`, { title: 'Ours' }), { status: 200, body: { title: 'Ours' } })
  for (const page of ['overview', 'deploys', 'analytics', 'activity', 'settings', 'team', 'sign-in', 'integrate']) {
    t.equal((await maker.get(`/games/secret/${page}`)).status, 200, page)
    t.equal((await tester.get(`/games/secret/${page}`)).status, 404, `${page} is not for testers`)
  }
  const first = await deploy(platform, ownerProgram, game.id, 'one')
  t.same([first.status, first.wanted], [200, ['index.html', 'same.js']])
  const second = await deploy(platform, program, game.id, 'two')
  t.same([second.status, second.wanted], [200, ['index.html']], 'what the game has is not uploaded again')
  const back = await deploy(platform, ownerProgram, game.id, 'two')
  t.same([back.status, back.wanted], [200, []], 'what the maker has brought to it is not, either')
  const ofOthers = await platform.game(other, { title: 'Elsewhere' })
  const elsewhere = await deploy(platform, otherProgram, ofOthers.id, 'two')
  t.same(elsewhere.wanted, ['index.html', 'same.js'], 'in another game nothing tells what this one has')
  t.match((await owner.get(`/api/games/${game.id}/deploys`)).body.deploys, [
    { state: 'live', by: { id: owner.id } },
    { state: 'superseded', by: { id: maker.id, name: 'Mae' } },
    { state: 'superseded', by: { id: owner.id } },
  ])
  t.equal((await program.post(`/api/deploy/${first.deployId}/rollback`)).status, 200)
  const used = async (player: PlayerClient, quota: 'storageBytesPerPlayer' | 'uploadBytesPerDay') =>
    (await app.quotas.quotasOf(player.id))[quota]?.used ?? -1
  t.equal(await used(maker, 'storageBytesPerPlayer'), 0, 'what is stored counts for the owner')
  t.ok((await used(owner, 'storageBytesPerPlayer')) > 0)
  t.ok((await used(maker, 'uploadBytesPerDay')) > 0, 'what is uploaded for whoever does')

  for (const [what, ask] of Object.entries({
    address: () => program.patch(`/api/games/${game.id}`, { slug: 'mine-now' }),
    'address elsewhere': () => program.patch(`/api/games/${game.id}`, { url: 'https://elsewhere.example/x' }),
    secret: () => program.post(`/api/games/${game.id}/secret`),
    end: () => program.delete(`/api/games/${game.id}`),
    'end for good': () => program.delete(`/api/games/${game.id}?forever=true&confirm=secret`),
    invitations: () => program.get(`/api/games/${game.id}/invitations`),
    invite: () => program.post(`/api/games/${game.id}/invitations`, { role: 'maker' }),
    promote: () => program.patch(`/api/games/${game.id}/members/${tester.id}`, { role: 'maker' }),
    remove: () => program.delete(`/api/games/${game.id}/members/${tester.id}`),
  })) {
    t.match(await ask(), { status: 403, body: { error: { code: 'owner_only' } } }, `${what} is the owner's`)
  }
  t.match((await program.get(`/api/games/${game.id}`)).body, {
    role: 'maker',
    makers: [
      { id: owner.id, name: 'Olu' },
      { id: maker.id, name: 'Mae', imageUrl: /^http/ },
    ],
  })
  t.match((await program.get('/api/games')).body.games, [{ role: 'maker', makers: [{}, {}] }])
  t.equal((await tester.get('/games/secret')).status, 200)
  const list = /Games that you test[\s\S]*<a href="\/games\/secret"/
  t.match((await tester.get('/games')).text, list, 'a tester finds it again')
  t.notMatch((await maker.get('/games')).text, list)
  t.equal((await tester.submit('/games/secret/team/remove', { member: tester.id })).status, 303)
  t.notMatch((await tester.get('/games')).text, list, 'and leaves it')
  t.equal((await tester.get('/games/secret')).status, 404)
  await join(owner, game, 'tester', [tester])
  t.equal((await stranger.get('/games/secret')).status, 404)
  t.match(
    (await maker.get('/games/secret')).text,
    /by <a [^>]*><bdi>Olu<\/bdi><\/a> and <a [^>]*><bdi>Mae</,
    'both are named',
  )

  t.equal((await owner.patch(`/api/games/${game.id}`, { visibility: 'public' })).status, 200)
  t.match((await stranger.get('/api/catalog/games')).body.games, [
    { id: ofOthers.id },
    { makers: [{ name: 'Olu' }, { name: 'Mae' }] },
  ])
  t.notMatch((await stranger.get('/api/catalog/games')).text, /"role"/)
  t.match((await stranger.get(`/players/${maker.id}`)).text, /Ours/, 'on the page of each of its makers')
  t.match((await stranger.get('/feed.xml')).text, /<author><name>Olu<.*\n.*<author><name>Mae</)
  t.equal((await owner.patch(`/api/games/${game.id}`, { visibility: 'private' })).status, 200)

  t.equal((await owner.patch(`/api/games/${game.id}/members/${tester.id}`, { role: 'maker' })).status, 204)
  t.equal((await tester.get(`/api/games/${game.id}`)).status, 200)
  t.equal((await owner.delete(`/api/games/${game.id}/members/${tester.id}`)).status, 204)
  t.equal((await tester.get('/games/secret')).status, 404, 'who is removed sees it no more')
  t.equal((await owner.delete(`/api/games/${game.id}/members/${tester.id}`)).status, 404)
  t.match(await owner.delete(`/api/games/${game.id}/members/${owner.id}`), {
    status: 409,
    body: { error: { code: 'owner_stays' } },
  })
  t.equal((await program.delete(`/api/games/${game.id}/members/${maker.id}`)).status, 204, 'a maker leaves')
  t.equal((await program.get(`/api/games/${game.id}`)).status, 404)
  t.equal((await program.post('/api/deploy', announced(game.id, 'three'))).status, 404)
  t.equal((await owner.get(`/api/games/${game.id}/deploys`)).body.deploys.length, 3, 'what the maker made stays')
  const actions = (await owner.get(`/api/games/${game.id}/activity`)).body.activity.map(
    ({ action, by }: { action: string; by: { playerId: string } }) => `${action} ${by.playerId}`,
  )
  t.match(actions, [`member.leave ${maker.id}`, `member.remove ${owner.id}`, `member.change ${owner.id}`])
  t.ok(actions.includes(`deploy.live ${maker.id}`))
}

t.test('makers make a game together, testers see it, and only the owner decides', async (t) => {
  await everyRole(t, await startPlatform(t))
})

t.test('the same holds on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await everyRole(t, await startPlatform(t, { config }))
})

t.test('an invitation that cannot be accepted says why in a sentence, and changes nothing', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens', 'quotas', 'games'] })
  const { app, clock } = platform
  const [owner, friend, other] = [await platform.signUp(), await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner, { title: 'Secret', visibility: 'private' })
  const invite = async (fields: Record<string, unknown> = {}) => {
    const { body } = await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', ...fields })
    return { id: body.id as string, path: new URL(body.url).pathname }
  }
  const team = async () => (await owner.get(`/api/games/${game.id}/members`)).body.members.length
  const refused = async (path: string, by: PlayerClient, status: number, sentence: RegExp) => {
    const before = await team().catch(() => null)
    t.match(await by.submit(path, {}), { status, text: sentence }, String(sentence))
    if (status === 410) t.match(await platform.stranger.get(path), { status, text: sentence }, 'before a sign-in, too')
    t.equal(await team().catch(() => null), before)
  }
  const link = await invite()
  const personal = await invite({ playerId: other.id })
  t.match(await platform.stranger.get(link.path), {
    status: 200,
    headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    text: new RegExp(`invites you to make this game.*href="/sign-up\\?returnTo=${encodeURIComponent(link.path)}"`, 's'),
  })
  t.notMatch(
    (await platform.stranger.get(link.path)).text,
    />Join<|action="\/guest"/,
    'nothing that only players can do',
  )
  t.match(await platform.stranger.submit(link.path, {}), { status: 303, headers: { location: /^\/sign-in/ } })
  t.match(await platform.stranger.get(personal.path), { status: 303, headers: { location: /^\/sign-in\?returnTo=/ } })
  t.match(await friend.get(link.path), { status: 200, text: /invites you to make this game together/ })
  await refused(link.path, owner, 409, /You are in this game already, as its owner\./)
  t.match(await owner.get(link.path), { status: 200, text: /You are in this game already, as its owner\./ })
  await refused(link.path.slice(0, -1), friend, 404, /no page at this address/)
  await refused(link.path.replace(link.id, personal.id), friend, 404, /no page at this address/)

  t.match(await friend.submit(link.path, {}), { status: 303, headers: { location: '/games/secret/overview?joined' } })
  t.match((await friend.get('/games/secret/overview?joined')).text, /You make this game now\./)
  await refused(link.path, friend, 409, /You are in this game already, as its maker\./)
  const forTesters = await invite({ role: 'tester' })
  await refused(forTesters.path, friend, 409, /already, as its maker/)

  await refused(personal.path, friend, 403, /This invitation is for another player\./)
  t.equal((await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', playerId: friend.id })).status, 409)
  t.equal((await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker', playerId: 'ply_none' })).status, 404)
  t.equal((await owner.delete(`/api/games/${game.id}/invitations/${personal.id}`)).status, 204)
  await refused(personal.path, other, 410, /This invitation was taken back\. Ask for a new one\./)

  const used = await invite({ playerId: other.id })
  t.equal((await other.submit(used.path, {})).status, 303)
  t.equal((await other.delete(`/api/games/${game.id}/members/${other.id}`)).status, 204)
  await refused(used.path, other, 410, /This invitation has been used\./)

  const again = await invite()
  await app.db.execute('update players set disabled = ? where id = ?', [true, other.id])
  t.not((await other.submit(again.path, {})).headers.location, '/games/secret/overview?joined', 'a disabled player')
  t.equal(await team(), 2)
  await app.db.execute('update players set disabled = ? where id = ?', [false, other.id])
  const open = async () => (await owner.get(`/api/games/${game.id}/invitations`)).body.invitations
  t.match(await open(), [
    { id: again.id, usesLeft: 20, player: null },
    { id: forTesters.id },
    { id: link.id, usesLeft: 19 },
  ])
  clock.advance(14 * DAY + 1)
  t.same(await open(), [])
  await refused(again.path, other, 410, /This invitation was valid for two weeks\./)
  const ofNoGame = await invite()
  t.equal((await owner.delete(`/api/games/${game.id}`)).status, 204)
  await refused(ofNoGame.path, other, 410, /The game of this invitation was deleted\./)
})

t.test('a tester whom a node with an earlier version removes is out, and may come back', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const [owner, tester, maker] = [await platform.signUp(), await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner, { title: 'Secret', visibility: 'private' })
  const link = await join(owner, game, 'tester', [tester])
  await join(owner, game, 'maker', [maker])
  await app.db.execute('update games set invited = ? where id = ?', ['[]', game.id])
  await app.games.announce(game)
  const roles = async () =>
    (await owner.get(`/api/games/${game.id}/members`)).body.members.map(({ role }: { role: string }) => role)
  t.same(await roles(), ['owner', 'maker'])
  t.equal((await tester.get('/games/secret')).status, 404)
  t.equal((await owner.delete(`/api/games/${game.id}/members/${tester.id}`)).status, 404)
  t.equal((await maker.get('/games/secret')).status, 200)
  t.equal((await tester.submit(link.path, {})).status, 303)
  t.same(await roles(), ['owner', 'maker', 'tester'])
})

t.test('a visitor who opens a link comes in with an account or a name, and then joins with one press', async (t) => {
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens', 'quotas', 'games'],
    config: { auth: { guests: true, signUp: 'closed' } },
  })
  const owner = await platform.admin()
  const game = await platform.game(owner, { title: 'Secret', visibility: 'private' })
  const { body } = await owner.post(`/api/games/${game.id}/invitations`, { role: 'maker' })
  const path = new URL(body.url).pathname
  const visitor = new Client(platform.app)
  const { text } = await visitor.get(path)
  t.notMatch(text, /Create an account/, 'where accounts are closed')
  t.match(text, new RegExp(`action="/guest".*name="returnTo" value="${path}"`, 's'))
  t.match(await visitor.submit('/guest', { name: 'Gus', returnTo: path }), { status: 303, headers: { location: path } })
  t.match((await visitor.get(path)).text, />Join</)
  t.match(await visitor.submit(path, {}), { status: 303, headers: { location: '/games/secret/overview?joined' } })
  t.match((await owner.get(`/api/games/${game.id}/members`)).body.members, [
    {},
    { player: { name: 'Gus' }, role: 'maker' },
  ])
})

t.test('a visitor with a link gives a proof of work where guests need one', async (t) => {
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens', 'quotas', 'games'],
    config: { auth: { guests: true, signUpChallenge: 'work' } },
  })
  const owner = await platform.admin()
  const { path } = await join(owner, await platform.game(owner, { title: 'Secret' }), 'maker', [])
  const { text } = await platform.stranger.get(path)
  t.match(text, /action="\/guest"[\s\S]*?<input type="hidden" name="work" data-work[\s\S]*?<\/form>/)
  t.match(text, /<script[^>]+sign-up-work/)
  t.equal((await platform.stranger.submit('/guest', { name: 'Gus', returnTo: path })).status, 403)
  t.notMatch((await owner.get(path)).text, /sign-up-work/, 'a player needs none')
})

t.test('a maker is not told how much the owner stores', async (t) => {
  const platform = await startPlatform(t, { config: { limits: { storageBytesPerPlayer: 1000 } } })
  const [owner, maker] = [await platform.signUp(), await platform.signUp()]
  const game = await platform.game(owner, { title: 'Full' })
  await join(owner, game, 'maker', [maker])
  const large = { gameId: game.id, files: [{ path: 'index.html', size: 2000, sha256: 'a'.repeat(64) }] }
  const own = await (await platform.program(owner)).post('/api/deploy', large)
  t.match(own.body, { error: { code: 'quota_exceeded', message: /more than you store now/ }, limit: 1000 })
  const other = await (await platform.program(maker)).post('/api/deploy', large)
  t.match(other.body, { error: { code: 'quota_exceeded', message: /The owner of this game can store no more\./ } })
  t.notOk('used' in other.body || 'limit' in other.body)
})
