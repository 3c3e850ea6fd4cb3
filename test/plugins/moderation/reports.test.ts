import t, { type Test } from 'tap'
import { exportOf } from '../../kit/exports.ts'
import { Client } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { form } from '../assets/kit.ts'
import { sheet } from '../assets/models.ts'
import { openModeration } from './kit.ts'

t.test('players, programs, guests and visitors report, and a second report replaces the first', async (t) => {
  const { platform, owner, reporter, game, report } = await openModeration(t, { config: { auth: { guests: true } } })
  const first = await report(reporter, game.id)
  t.match(first, { status: 201, body: { target: { kind: 'game', id: game.id }, category: 'spam', state: 'open' } })
  t.match(await report(reporter, game.id, { category: 'malware', text: ' It asks for passwords. ' }), {
    status: 200,
    body: { id: first.body.id, category: 'malware', text: 'It asks for passwords.' },
  })
  t.match(await report(await platform.program(reporter), game.id), { status: 200, body: { id: first.body.id } })
  const guest = new Client(platform.app)
  await guest.post('/api/auth/guest', { name: 'Guest' })
  t.equal((await report(guest, game.id)).status, 201)
  t.equal((await report(platform.stranger, game.id)).status, 201)
  t.equal((await report(platform.stranger, game.id)).status, 200, 'a visitor counts by address')
  t.equal((await report(reporter, owner.id)).status, 201, 'a player is another target')
  const { length } = await platform.app.db.query("select id from reports where state = 'open'")
  t.equal(length, 4)
})

t.test('parallel reports of one reporter are one', async (t) => {
  const { platform, reporter, game, report } = await openModeration(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => report(reporter, game.id)))
  t.same(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.same(answers.map(({ status }) => status).toSorted()[19], 201)
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  t.equal((await platform.app.db.query('select id from reports')).length, 1)
})

t.test('nobody reports what they cannot see, or what is their own', async (t) => {
  const { platform, owner, reporter, game, report } = await openModeration(t)
  const hidden = await platform.game(owner, { title: 'Hidden', visibility: 'private' })
  t.equal((await report(reporter, hidden.id)).status, 404)
  t.equal((await report(platform.stranger, hidden.id)).status, 404)
  t.equal((await report(reporter, 'gam_00000000000000000000000000')).status, 404)
  t.equal((await report(reporter, 'ply_00000000000000000000000000')).status, 404)
  t.match(await report(owner, game.id), { status: 409, body: { error: { code: 'own_thing' } } })
  const maker = await platform.signUp()
  await join(owner, game, 'maker', [maker])
  t.match(await report(maker, game.id), { status: 409, body: { error: { code: 'own_thing' } } })
  t.match(await report(owner, owner.id), { status: 409, body: { error: { code: 'own_thing' } } })
  t.match(await report(reporter, game.id, { text: ' ' }), {
    status: 400,
    body: { error: { details: [{ path: 'text' }] } },
  })
  t.match(await report(reporter, game.id, { category: 'ugly' }), {
    status: 400,
    body: { error: { details: [{ path: 'category' }] } },
  })
  t.equal((await report(reporter, game.id, { text: 'x'.repeat(2001) })).status, 400)
  await platform.app.games.suspensions.suspend(game.id, 'Stolen.')
  t.match(await report(reporter, game.id), { status: 451, body: { error: { code: 'suspended' } } })
})

t.test('reports are limited by player, and by address without an account', async (t) => {
  const limits = { rateLimits: true, reportsPerHour: 2 }
  const { platform, reporter, game, report } = await openModeration(t, { config: { limits } })
  for (const by of [reporter, platform.stranger]) {
    for (const expected of [201, 200, 429]) t.equal((await report(by, game.id)).status, expected)
  }
  t.match((await report(reporter, game.id)).headers, { 'retry-after': /\d+/ })
})

t.test('the form of each game, asset and player works without a script', async (t) => {
  const { platform, owner, reporter, game } = await openModeration(t)
  const { payload, headers } = form(await sheet(2), { visibility: 'public', title: 'Sheet' })
  const { body: asset } = await owner.request('POST', '/api/assets', payload, { headers })
  const pages = [`/games/${game.slug}`, `/assets/${asset.slug}`, `/players/${owner.id}`]
  for (const page of pages) {
    t.match((await platform.stranger.get(page)).text, `href="${page}/report"`, page)
    t.notMatch((await owner.get(page)).text, `${page}/report`, 'nobody reports their own')
    t.match(await platform.stranger.get(`${page}/report`), { status: 200, text: /name="category"[\s\S]*name="text"/ })
    t.match(await reporter.submit(`${page}/report`, { text: 'Look <b>here</b>.' }), {
      status: 400,
      text: /Choose what it is about\.[\s\S]*Look &lt;b>here&lt;\/b>\.</,
    })
    t.match(await reporter.submit(`${page}/report`, { category: 'other', text: '' }), {
      status: 400,
      text: /Say what is wrong/,
    })
    const sent = await reporter.submit(`${page}/report`, { category: 'other', text: 'Look here.' })
    t.match(sent, { status: 303, headers: { location: `${page}/report?sent=1` } })
    t.match(await reporter.get(`${page}/report?sent=1`), { status: 200, text: /Thank you/ })
  }
  const foreign = { headers: { origin: 'https://elsewhere.example' } }
  t.equal((await platform.stranger.submit(`${pages[0]}/report`, { category: 'other', text: 'x' }, foreign)).status, 403)
  t.equal((await platform.app.db.query('select id from reports')).length, 3)
})

t.test('a deleted account leaves no words and no name behind', async (t) => {
  const { platform, owner, reporter, game, report, tell } = await openModeration(t)
  const { app } = platform
  const other = await platform.game(owner, { title: 'Other' })
  await report(reporter, game.id, { text: 'Zanzibar' })
  await report(reporter, other.id, { text: 'Zanzibar' })
  await report(owner, reporter.id, { text: 'Rita is rude.' })
  const by = { id: 'ply_admin', role: 'admin' } as const
  await tell((await app.moderation.decisions.decide(other.id, { action: 'dismiss' }, by)).id)
  t.match(await exportOf(app, reporter.id), {
    reports: [{ state: 'dismissed' }, { state: 'open', text: 'Zanzibar' }],
    messages: [{ subject: 'Your report about Other' }],
  })
  await app.identity.deletion.remove(reporter.id)
  const rows = await app.db.query('select reporter_id, reporter_key, text, target_id, state from reports')
  t.same(rows, [{ reporter_id: null, reporter_key: '', text: '', target_id: game.id, state: 'open' }])
  t.same(await app.db.query('select id from staff_messages'), [])
  t.equal(await app.moderation.queue.count(), 1, 'the report still waits')
})

async function followTheGame(t: Test, options: Parameters<typeof openModeration>[1] = {}) {
  const { platform, moderator, owner, reporter, game, report } = await openModeration(t, options)
  const { app } = platform
  const maker = await platform.signUp({ name: 'Mae' })
  await join(owner, game, 'maker', [maker])
  const other = await platform.game(owner, { title: 'Other' })
  const decide = (fields: object) => moderator.post(`/api/admin/reports/${game.id}`, fields)
  await report(reporter, game.id)
  t.equal((await decide({ action: 'dismiss' })).status, 201)
  await report(reporter, game.id, { text: 'Again.' })
  t.equal((await decide({ action: 'write', message: 'Please explain.' })).status, 201)
  await report(reporter, other.id)
  await owner.post(`/api/games/${game.id}/transfer`, { playerId: maker.id })
  const accepted = maker.post(`/api/games/${game.id}/transfer/accept`)
  const meanwhile = report(platform.stranger, game.id)
  t.equal((await accepted).status, 204)
  t.equal((await meanwhile).status, 201)
  const ownersOf = (sql: string) => app.db.query<{ owner_id: string }>(sql)
  t.same(await ownersOf(`select distinct owner_id from reports where target_id = '${game.id}'`), [
    { owner_id: maker.id },
  ])

  await app.identity.deletion.remove(owner.id)
  t.same(await ownersOf('select owner_id from reports'), Array(3).fill({ owner_id: maker.id }), 'what is theirs goes')
  t.same(await ownersOf('select owner_id from report_decisions'), [{ owner_id: maker.id }], 'but not their message')
  const queue = await moderator.get('/api/admin/reports')
  t.match(queue.body, { targets: [{ target: { id: game.id }, ownerId: maker.id }] })
  await app.identity.deletion.remove(maker.id)
  t.same(await ownersOf('select owner_id from reports'), [])
}

t.test('reports follow a game to another owner', (t) => followTheGame(t))

t.test('and on PostgreSQL', needsPostgres, async (t) => {
  const postgres = await startPostgres()
  const database = { driver: 'postgres', url: await postgres.database() }
  await followTheGame(t, { config: { database, secret: 'x'.repeat(40) } })
})
