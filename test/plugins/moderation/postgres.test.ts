import t from 'tap'
import { exportOf } from '../../kit/exports.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { openModeration } from './kit.ts'

t.test('reports and decisions hold on PostgreSQL, with parallel callers', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  const { platform, admin, moderator, owner, reporter, game, report, audited, states } = await openModeration(t, {
    config,
  })
  const { moderation } = platform.app
  const answers = await Promise.all(Array.from({ length: 20 }, () => report(reporter, game.id)))
  t.same(new Set(answers.map(({ body }) => body.id)).size, 1)
  await report(platform.stranger, game.id, { category: 'harm' })
  await report(reporter, owner.id)
  t.match((await moderator.get('/api/admin/reports')).body.targets, [
    { target: { id: game.id }, urgent: true, reports: 2, title: 'Pong' },
    { target: { id: owner.id }, urgent: false, reports: 1 },
  ])
  t.match((await moderator.get('/admin/reports')).text, /1 of 2/)

  const before = (await audited()).length
  const decide = (by: typeof admin, action: string) =>
    by.post(`/api/admin/reports/${game.id}`, { action, message: 'Violence.' })
  const decided = await Promise.all([decide(admin, 'suspend'), decide(moderator, 'dismiss'), decide(admin, 'disable')])
  t.same(decided.map(({ status }) => status).toSorted(), [201, 409, 409], 'one of three decides')
  t.equal((await audited()).length, before + 1)
  const decisionId = decided.find(({ status }) => status === 201)?.body.id
  t.equal((await moderator.post('/api/admin/reports/undo', { decisionId })).status, 200)
  t.same(new Set(await states()), new Set(['open']))
  t.equal((await platform.app.games.get(game.id)).suspended, null)

  const last = await decide(moderator, 'disable')
  t.match(last, { status: 201, body: { reports: 3, changed: true } })
  await Promise.all([moderation.outcomes.tell(last.body.id), moderation.outcomes.tell(last.body.id)])
  const subjects = (await moderation.messages.of(reporter.id)).map(({ subject }) => subject)
  t.same(subjects, ['Your report about Pong'], 'told once')
  t.match(await exportOf(platform.app, reporter.id), {
    reports: [{ state: 'upheld' }, { state: 'upheld' }],
  })
  await platform.app.identity.deletion.remove(reporter.id)
  t.equal(await moderation.queue.count(), 0)
})
