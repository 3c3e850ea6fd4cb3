// Who may publish (`games.publish`): new games wait for staff, work for their makers, and nobody else gets them.
import t, { type Test } from 'tap'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'
import { signInTo } from '../multiplayer/kit.ts'

const FILES = { 'index.html': '<!doctype html><title>Pong</title>', 'game.js': 'play()' }

async function openPlatform(t: Test, publish: string, config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { config: { ...config, games: { publish } } })
  const [admin, maker] = [await platform.admin(), await platform.signUp({ name: 'Mo' })]
  return { platform, admin, maker, program: await platform.program(maker) }
}

/** Whether each list of the platform contains a game. */
async function listed(platform: Platform, slug: string, ownerId: string): Promise<Set<boolean>> {
  const lists = ['/', '/catalog', '/catalog?q=pong', '/catalog?tag=co-op', '/feed.xml', `/players/${ownerId}`]
  const pages = await Promise.all([...lists, '/api/catalog/games'].map((url) => platform.stranger.get(url)))
  return new Set(pages.map(({ text }) => text.includes(`/games/${slug}`)))
}

t.test('the first game of a new account waits, for everyone but its maker', async (t) => {
  const smtp = await startSmtp(t)
  const mail = { driver: 'smtp', url: smtp.url, from: 'yard@example.org' }
  const { platform, admin, maker, program } = await openPlatform(t, 'approve', { mail })
  const game = await platform.game(maker, { tags: ['co-op'] })
  t.match(game, { visibility: 'private', approval: { state: 'waiting', reason: null, visibility: 'public' } })
  await deploy(platform, program, game.id, FILES)
  const host = platform.gameHost(game.slug)
  const { stranger } = platform
  const other = await platform.signUp()
  const statuses = async (client: typeof stranger) => [
    (await client.get('/', { host })).status,
    (await client.get('/game.js', { host })).status,
    (await client.get(`/games/${game.slug}`)).status,
    (await client.get(`/games/${game.slug}/card.png`)).status,
  ]
  t.same(await statuses(stranger), [404, 404, 404, 404])
  t.same(await statuses(other), [404, 404, 404, 404])
  t.same(await listed(platform, game.slug, maker.id), new Set([false]))
  t.equal((await maker.get(`/games/${game.slug}`)).status, 200)
  t.match(await maker.get(`/games/${game.slug}/overview`), { status: 200, text: /Waits for approval/ })
  await signInTo(maker, host)
  t.equal((await maker.get('/', { host })).status, 200, 'its maker plays it')
  const [{ id }] = (await program.get(`/api/games/${game.id}/deploys`)).body.deploys
  t.match((await maker.get(`/games/${game.slug}/deploys/${id}/preview`)).headers, { location: /pass=/ })

  t.comment('nothing that its maker does publishes it')
  t.match(await program.patch(`/api/games/${game.id}`, { visibility: 'public', playable: true }), {
    body: { visibility: 'private', approval: { visibility: 'public' } },
  })
  const invited = await maker.post(`/api/games/${game.id}/invitations`, { role: 'tester' })
  const link = new URL(invited.body.url).pathname
  t.match(await other.get(link), { status: 410, text: /waits for the approval/ }, 'an invitation leads nowhere')
  t.equal((await other.submit(link, {})).status, 410)
  const second = await platform.game(maker, { title: 'Second' })
  t.match(second.approval, { state: 'waiting' }, 'another one waits, too, until one is published')
  await program.delete(`/api/games/${second.id}`)
  t.match((await program.post(`/api/games/${second.id}/restore`)).body.approval, { state: 'waiting' })
  t.same(await statuses(other), [404, 404, 404, 404])

  t.comment('staff look at it, refuse it and approve it')
  t.match(await admin.get('/admin/approvals'), { status: 200, text: /Pong/ })
  t.equal((await admin.get(`/games/${game.slug}`)).status, 404)
  t.match(await admin.submit(`/admin/approvals/${game.id}/review`, {}), {
    status: 303,
    headers: { location: `/games/${game.slug}` },
  })
  t.equal((await admin.get(`/games/${game.slug}`)).status, 200)
  t.equal((await admin.submit(`/admin/approvals/${game.id}/refuse`, { reason: ' ' })).status, 400)
  t.equal((await admin.submit(`/admin/approvals/${game.id}/refuse`, { reason: 'It is empty.' })).status, 303)
  t.match((await program.get(`/api/games/${game.id}`)).body.approval, { state: 'refused', reason: 'It is empty.' })
  t.match((await maker.get(`/games/${game.slug}/overview`)).text, /Not approved[\s\S]*It is empty\./)
  t.equal((await admin.get(`/games/${game.slug}`)).status, 404, 'the look ends with the decision')
  t.same(await statuses(other), [404, 404, 404, 404])
  t.equal((await admin.submit(`/admin/approvals/${game.id}/approve`, {})).status, 303)
  t.match((await program.get(`/api/games/${game.id}`)).body, { visibility: 'public', approval: null })
  t.same(await statuses(stranger), [200, 200, 200, 200])
  t.same(await listed(platform, game.slug, maker.id), new Set([true]))
  t.match(await admin.submit(`/admin/approvals/${game.id}/approve`, {}), { status: 409, text: /decided already/ })
  await until(async () => smtp.inbox.length === 2)
  t.match(smtp.inbox.map(({ subject }) => subject).sort(), ['Pong is published', 'Pong was not published'])
  t.match((await platform.game(maker, { title: 'Third' })).approval, null, 'the next ones need none')
})

t.test('the testers of a game stay when the staff decide about it', async (t) => {
  const { platform, admin, maker } = await openPlatform(t, 'open')
  const tester = await platform.signUp()
  for (const decision of ['approve', 'refuse']) {
    const game = await platform.game(maker, { title: decision, visibility: 'private' })
    const { body } = await maker.post(`/api/games/${game.id}/invitations`, { role: 'tester' })
    t.equal((await tester.submit(new URL(body.url).pathname, {})).status, 303)
    await platform.app.db.execute("update games set approval = 'waiting', requested_visibility = ? where id = ?", [
      'private',
      game.id,
    ])
    await platform.app.games.announce(game)
    t.equal((await admin.submit(`/admin/approvals/${game.id}/review`, {})).status, 303)
    t.equal((await admin.submit(`/admin/approvals/${game.id}/${decision}`, { reason: 'No.' })).status, 303)
    t.match((await maker.get(`/api/games/${game.id}/members`)).body.members, [
      { role: 'owner' },
      { role: 'tester', player: { id: tester.id } },
    ])
    t.equal((await admin.get(`/games/${game.slug}`)).status, 404, 'the look ends with the decision')
  }
})

t.test('with trust, the players whom staff trust publish, and nobody else', async (t) => {
  const { platform, admin, maker, program } = await openPlatform(t, 'trusted')
  const game = await platform.game(maker, { visibility: 'private' })
  const refused = await platform.game(maker, { title: 'Refused' })
  await admin.submit(`/admin/approvals/${refused.id}/refuse`, { reason: 'No.' })
  t.match(game.approval, { state: 'waiting', visibility: 'private' })
  t.match(await maker.put(`/api/admin/players/${maker.id}/trust`, { trusted: true }), { status: 403 })
  t.equal((await platform.game(admin)).approval, null, 'staff are trusted')
  t.match(await admin.put(`/api/admin/players/${maker.id}/trust`, { trusted: true }), {
    status: 200,
    body: { playerId: maker.id, trusted: true },
  })
  t.match((await program.get(`/api/games/${game.id}`)).body, { approval: null, visibility: 'private' })
  t.match((await program.get(`/api/games/${refused.id}`)).body.approval, { state: 'refused' })
  t.equal((await platform.game(maker)).approval, null)
  t.equal((await admin.submit(`/admin/players/${maker.id}/distrust`, {})).status, 303)
  t.match((await platform.game(maker)).approval, { state: 'waiting' }, 'a published game is no trust here')
  const rows = await platform.app.db.query<{ action: string }>('select action from audit order by id')
  t.same(
    rows.map(({ action }) => action),
    ['game.refuse', 'player.trust', 'game.approve', 'player.trust'],
  )
})

t.test('of games that are made at once, each waits, and of two decisions one counts', async (t) => {
  const { platform, admin, program } = await openPlatform(t, 'approve')
  const made = await Promise.all(
    Array.from({ length: 8 }, () => program.post('/api/games', { title: 'Pong', description: 'A game.' })),
  )
  t.same(new Set(made.map(({ body }) => body.approval?.state)), new Set(['waiting']))
  const id = made[0]?.body.id
  const answers = await Promise.all([
    admin.submit(`/admin/approvals/${id}/approve`, {}),
    admin.submit(`/admin/approvals/${id}/refuse`, { reason: 'No.' }),
    admin.submit(`/admin/approvals/${id}/approve`, {}),
  ])
  t.equal(answers.filter(({ status }) => status === 409).length >= 1, true)
  const { approval } = (await program.get(`/api/games/${id}`)).body
  const rows = await platform.app.db.query<{ action: string }>("select action from audit where action like 'game.%'")
  t.equal(rows.length, answers.filter(({ status }) => status === 303).length, 'each that counts leaves a row')
  t.ok(approval === null || rows.at(-1)?.action === 'game.refuse')
})

t.test('a maker who floods the queue is refused at once, and a disabled one is not in it', async (t) => {
  const smtp = await startSmtp(t)
  const mail = { driver: 'smtp', url: smtp.url, from: 'yard@example.org' }
  const { platform, admin, maker } = await openPlatform(t, 'approve', { mail })
  const other = await platform.signUp({ name: 'Ola' })
  const games = []
  for (const title of ['One', 'Two', 'Three']) games.push(await platform.game(maker, { title }))
  const good = await platform.game(other, { title: 'Good' })
  const [first] = games as [{ id: string }]
  const waiting = async () => [...(await platform.app.games.approvals.waiting())]
  t.match((await admin.get('/admin/approvals')).text, /Refuse also the 2 other waiting games of this maker/)
  const refusal = { reason: 'Advertising.', all: 'on' }
  t.equal((await admin.submit(`/admin/approvals/${first.id}/refuse`, { ...refusal, reason: '' })).status, 400)
  t.match(await admin.submit(`/admin/approvals/${first.id}/refuse`, refusal), {
    status: 303,
    headers: { location: /done=refuseAll/ },
  })
  t.same(await waiting(), [[other.id, 1]], 'the games of others wait')
  await until(() => smtp.inbox.some(({ text }) => /- One\s+- Two\s+- Three\s+Advertising\./.test(text)))
  t.equal(smtp.inbox.filter(({ subject }) => /published/.test(subject)).length, 1, 'in one mail')
  t.match((await admin.get('/admin/audit')).text.match(/game\.refuse/g), { length: 3 })

  t.equal((await admin.submit(`/admin/players/${other.id}/disable`, { withContent: 'on' })).status, 303)
  t.same(await waiting(), [])
  t.notOk((await admin.get('/admin/approvals')).text.includes('Approve: Good'))
  t.match(await admin.submit(`/admin/approvals/${good.id}/approve`, {}), { status: 409, text: /is suspended/ })
  t.equal((await admin.submit(`/admin/players/${other.id}/enable`, {})).status, 303)
  t.same(await waiting(), [[other.id, 1]], 'it waits again')
})

t.test('open by default: no game waits', async (t) => {
  const platform = await startPlatform(t)
  const maker = await platform.signUp()
  t.match(await platform.game(maker), { visibility: 'public', approval: null })
})
