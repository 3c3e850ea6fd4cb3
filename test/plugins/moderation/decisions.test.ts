import t from 'tap'
import { sendDigest, sweepReports } from '../../../plugins/moderation/scheduled-tasks.ts'
import type { Answer } from '../../kit/platform.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'
import { form } from '../assets/kit.ts'
import { sheet } from '../assets/models.ts'
import { openModeration } from './kit.ts'

const REASON = 'It uses work of somebody else.'
const decide = (
  by: { post: (url: string, body: unknown) => Promise<Answer> },
  id: string,
  action: string,
  message?: string,
) => by.post(`/api/admin/reports/${id}`, { action, ...(message === undefined ? {} : { message }) })
const undo = (by: { post: (url: string, body: unknown) => Promise<Answer> }, { body }: Answer) =>
  by.post('/api/admin/reports/undo', { decisionId: body.id })

t.test('the queue has urgent targets first, then those with most reports', async (t) => {
  const { platform, moderator, owner, reporter, game, report } = await openModeration(t)
  const busy = await platform.game(owner, { title: 'Busy' })
  const urgent = await platform.game(owner, { title: 'Urgent' })
  await report(reporter, game.id)
  await report(reporter, busy.id)
  await report(platform.stranger, busy.id, { category: 'copyright' })
  await report(reporter, urgent.id, { category: 'harm' })
  const { body } = await moderator.get('/api/admin/reports')
  t.match(body, {
    nextCursor: null,
    targets: [
      { target: { id: urgent.id }, title: 'Urgent', urgent: true, reports: 1, categories: ['harm'] },
      { target: { id: busy.id }, urgent: false, reports: 2, ownerId: owner.id },
      { target: { id: game.id }, categories: ['spam'] },
    ],
  })
  const first = (await moderator.get('/api/admin/reports?limit=2')).body
  t.equal(first.targets.length, 2)
  t.match((await moderator.get(`/api/admin/reports?limit=2&cursor=${first.nextCursor}`)).body, {
    targets: [{ target: { id: game.id } }],
    nextCursor: null,
  })
  for (const by of [reporter, owner]) t.equal((await by.get('/api/admin/reports')).status, 403)
  t.equal((await platform.stranger.get('/api/admin/reports')).status, 401)
})

t.test('suspending a game upholds its reports, tells everybody, and can be undone', async (t) => {
  const smtp = await startSmtp(t)
  const { platform, moderator, owner, reporter, game, report, audited, states, tell } = await openModeration(t, {
    config: mailBy(smtp),
  })
  await report(reporter, game.id)
  await report(platform.stranger, game.id)
  t.match(await decide(moderator, game.id, 'suspend', ' '), {
    status: 400,
    body: { error: { details: [{ path: 'message' }] } },
  })
  const before = (await audited()).length
  const made = await decide(moderator, game.id, 'suspend', REASON)
  t.match(made, { status: 201, body: { action: 'suspend', changed: true, reports: 2 } })
  t.same((await audited()).slice(0, -before), ['game.suspend'], 'one row')
  t.match((await platform.app.games.get(game.id)).suspended, { reason: REASON })
  t.same(await states(), ['upheld', 'upheld'])
  t.match(await decide(moderator, game.id, 'dismiss'), { status: 409, body: { error: { code: 'nothing_open' } } })

  t.match(await undo(moderator, made), { status: 200, body: { reports: 2 } })
  t.equal((await platform.app.games.get(game.id)).suspended, null)
  t.same(await states(), ['open', 'open'])
  t.same((await audited()).slice(0, -before), ['game.lift', 'game.suspend'])
  t.match(await undo(moderator, made), { status: 409, body: { error: { code: 'undone_already' } } })
  await tell(made.body.id)
  t.same(await platform.app.moderation.messages.of(owner.id), [], 'what was undone is not told')

  const again = await decide(moderator, game.id, 'suspend', REASON)
  await tell(again.body.id)
  await tell(again.body.id)
  t.match(await platform.app.moderation.messages.of(owner.id), [
    { subject: 'Pong is suspended', text: new RegExp(REASON) },
  ])
  t.match(await platform.app.moderation.messages.of(reporter.id), [
    { subject: 'Your report about Pong', text: /acted on it/ },
  ])
  await until(() => smtp.inbox.length >= 2)
  t.same(smtp.inbox.flatMap(({ to }) => to).toSorted(), [owner.account.email, reporter.account.email].toSorted())
  t.match((await reporter.get('/settings/messages')).text, /Your report about Pong[\s\S]*acted on it/)
  await platform.app.games.suspensions.suspend(game.id, 'Another reason.')
  t.match(await undo(moderator, again), { status: 409, body: { error: { code: 'changed_since' } } })
})

t.test('dismissing closes the reports of a target, and tells their reporters', async (t) => {
  const { platform, admin, reporter, game, report, audited, states, tell } = await openModeration(t)
  await report(reporter, game.id)
  const made = await decide(admin, game.id, 'dismiss')
  t.same(await states(), ['dismissed'])
  t.equal((await audited())[0], 'report.dismiss')
  await report(reporter, game.id, { text: 'It is there again.' })
  await tell(made.body.id)
  t.match(await platform.app.moderation.messages.of(reporter.id), [{ text: /left it as it is/ }])
  t.match(await undo(admin, made), { status: 200, body: { reports: 0 } }, 'a newer report stands for the closed one')
  t.same(await states(), ['dismissed', 'open'])
  t.equal((await audited())[0], 'report.reopen')
})

t.test('disabling the owner upholds all reports about their things, and comes back with an undo', async (t) => {
  const { platform, moderator, owner, reporter, game, report, audited, states } = await openModeration(t)
  const other = await platform.game(owner, { title: 'Other' })
  await report(reporter, game.id)
  await report(reporter, other.id)
  await report(reporter, owner.id)
  const before = (await audited()).length
  const made = await decide(moderator, game.id, 'disable', 'Spam, again.')
  t.match(made.body, { changed: true, reports: 3 })
  t.same(await states(), ['upheld', 'upheld', 'upheld'])
  t.same((await audited()).slice(0, -before), ['player.disable'])
  t.match(await platform.app.identity.players.find(owner.id), { disabled: true })
  t.ok((await platform.app.games.get(other.id)).suspended)
  await undo(moderator, made)
  t.match(await platform.app.identity.players.find(owner.id), { disabled: false })
  t.equal((await platform.app.games.get(other.id)).suspended, null)
  t.same(await states(), ['open', 'open', 'open'])
})

t.test('an owner who is disabled by a decision gets the reason by mail', async (t) => {
  const smtp = await startSmtp(t)
  const { moderator, owner, reporter, game, report, tell } = await openModeration(t, { config: mailBy(smtp) })
  await report(reporter, game.id)
  const undone = await decide(moderator, game.id, 'disable', 'Spam, again.')
  await undo(moderator, undone)
  await tell(undone.body.id)
  const made = await decide(moderator, game.id, 'disable', 'Spam, for the last time.')
  await tell(made.body.id)
  const mails = () => smtp.inbox.filter(({ to }) => to.includes(owner.account.email))
  t.match(await until(() => mails()[0]), { subject: /is disabled/, text: /The reason: Spam, for the last time\./ })
  t.equal(mails().length, 1, 'none of what was undone')
})

t.test('the owner is told of a suspension by hand that stands ten minutes later', async (t) => {
  const { platform, admin, owner, game } = await openModeration(t)
  const { moderation, db } = platform.app
  const suspend = (reason: string) => admin.submit(`/admin/games/${game.id}/suspend`, { reason })
  /** Does what the job does ten minutes later. */
  const later = async () => {
    const rows = await db.query<{ payload: string | object; due_at: number }>(
      "select payload, due_at from background_jobs where name = 'moderation/tell-suspension'",
    )
    t.equal(rows.length, 1)
    t.equal((rows[0]?.due_at ?? 0) - platform.clock.now().getTime(), 600_000)
    await moderation.outcomes.tellSuspension(JSON.parse(String(rows[0]?.payload)))
  }
  await suspend('By mistake.')
  await later()
  t.equal((await moderation.messages.of(owner.id)).length, 1)
  await db.execute('delete from staff_messages')
  await admin.submit(`/admin/games/${game.id}/lift`, {})
  await later()
  t.same(await moderation.messages.of(owner.id), [], 'not of one that was lifted')
  await suspend('Stolen.')
  await suspend('Stolen pictures.')
  await later()
  const told = await moderation.messages.of(owner.id)
  t.match(told, [{ subject: 'Pong is suspended', text: /^Stolen pictures\.[\s\S]*\/games\/pong\/overview/ }])
  t.equal(told.length, 1)
})

t.test('a message to the owner waits ten minutes, and leaves the reports open', async (t) => {
  const { platform, moderator, owner, reporter, game, report, audited, states, tell } = await openModeration(t)
  await report(reporter, game.id)
  const withdrawn = await decide(moderator, game.id, 'write', 'Whose picture is that?')
  t.equal((await audited())[0], 'message.send')
  await undo(moderator, withdrawn)
  t.equal((await audited())[0], 'message.withdraw')
  await tell(withdrawn.body.id)
  t.same(await platform.app.moderation.messages.of(owner.id), [])
  const sent = await decide(moderator, game.id, 'write', 'Whose picture is that?')
  const due = await platform.app.db.query<{ due_at: number }>(
    "select due_at from background_jobs where name = 'moderation/tell' order by due_at desc",
  )
  t.equal((due[0]?.due_at ?? 0) - platform.clock.now().getTime(), 600_000)
  await tell(sent.body.id)
  t.match(await platform.app.moderation.messages.of(owner.id), [{ subject: 'About Pong', text: /Whose picture/ }])
  t.match(await undo(moderator, sent), { status: 409, body: { error: { code: 'message_sent' } } })
  t.same(await states(), ['open'])
})

t.test('a moderator does not disable staff, nor decide about what they own or make', async (t) => {
  const { platform, admin, moderator, reporter, game, report, audited, states } = await openModeration(t)
  const { app } = platform
  const [ofAdmin, own] = [
    await platform.game(admin, { title: 'Of the admin' }),
    await platform.game(moderator, { title: 'Own' }),
  ]
  await report(reporter, ofAdmin.id)
  await report(reporter, own.id)
  await report(reporter, admin.id)
  await report(reporter, game.id)
  await app.db.execute("insert into game_members (game_id, player_id, role) values (?, ?, 'maker')", [
    game.id,
    moderator.id,
  ])
  await app.games.suspensions.suspend(game.id, 'Stolen.')
  const before = await audited()
  for (const id of [ofAdmin.id, admin.id]) t.equal((await decide(moderator, id, 'disable', 'Rude.')).status, 403)
  for (const action of ['dismiss', 'suspend', 'disable', 'write'])
    for (const { id } of [own, game]) t.equal((await decide(moderator, id, action, 'x')).status, 403, action)
  const by = { id: moderator.id, role: 'moderator' } as const
  await t.rejects(app.games.suspensions.suspend(game.id, 'x', by), { code: 'forbidden' })
  await t.rejects(app.games.suspensions.lift(game.id, by), { code: 'forbidden' })
  t.match(await app.identity.players.find(admin.id), { disabled: false })
  t.same(await states(), ['open', 'open', 'open', 'open'])
  t.same(await audited(), before, 'what failed leaves no row')
  t.equal((await decide(admin, admin.id, 'disable', 'x')).status, 409, 'the last administrator stays')
  t.equal((await decide(moderator, ofAdmin.id, 'suspend', REASON)).status, 201)
  const someone = await platform.signUp()
  await report(reporter, someone.id)
  t.match(await decide(moderator, someone.id, 'suspend', REASON), { status: 400 })
  const promoted = app.identity.administration.setDisabled(admin.id, true, { by })
  await t.rejects(promoted, { code: 'forbidden' }, 'the service refuses it too')
})

t.test('of two people who decide at once one wins', async (t) => {
  const { platform, admin, moderator, reporter, game, report, audited } = await openModeration(t)
  await report(reporter, game.id)
  const before = (await audited()).length
  const answers = await Promise.all([decide(admin, game.id, 'suspend', REASON), decide(moderator, game.id, 'dismiss')])
  t.same(answers.map(({ status }) => status).toSorted(), [201, 409])
  t.equal((await audited()).length, before + 1)
  const [decision] = await platform.app.db.query<{ action: string }>('select action from report_decisions')
  t.equal((await platform.app.games.get(game.id)).suspended !== null, decision?.action === 'suspend')
})

t.test('what is suspended or gone for good already is only upheld or dismissed', async (t) => {
  const { platform, moderator, owner, reporter, game, report, audited, states } = await openModeration(t)
  const gone = await platform.game(owner, { title: 'Gone' })
  await report(reporter, game.id)
  await report(reporter, gone.id)
  await platform.app.games.suspensions.suspend(game.id, 'An earlier reason.')
  await platform.app.games.remove(owner.id, gone.id)
  t.match(await decide(moderator, game.id, 'suspend', REASON), { status: 201, body: { changed: false } })
  t.equal((await audited())[0], 'report.uphold')
  t.match((await platform.app.games.get(game.id)).suspended, { reason: 'An earlier reason.' })
  platform.clock.advance(31 * 86_400_000)
  await platform.app.games.deletion.purge(new AbortController().signal)
  const by = { id: moderator.id, role: 'moderator' } as const
  const { decisions } = platform.app.moderation
  await t.rejects(decisions.decide(gone.id, { action: 'suspend', message: REASON }, by), { code: 'target_gone' })
  await decisions.decide(gone.id, { action: 'dismiss' }, by)
  t.same(await states(), ['upheld', 'dismissed'])
})

t.test('deleting a game until its reports are dismissed does not help', async (t) => {
  const { platform, moderator, owner, reporter, game, report } = await openModeration(t)
  const maker = await platform.program(owner)
  await report(reporter, game.id)
  t.equal((await maker.delete(`/api/games/${game.id}`)).status, 204)
  t.match((await moderator.get('/api/admin/reports')).body.targets, [{ target: { id: game.id }, title: 'Pong' }])
  t.match(await decide(moderator, game.id, 'suspend', REASON), { status: 201, body: { changed: true } })
  t.equal((await maker.post(`/api/games/${game.id}/restore`)).status, 200)
  t.match((await platform.app.games.get(game.id)).suspended, { reason: REASON })
})

t.test('a suspension that was decided outlives the account, and an undo leaves what the account demands', async (t) => {
  const { platform, moderator, owner, reporter, game, report } = await openModeration(t)
  const { games, identity } = platform.app
  const suspended = async () => (await games.get(game.id)).suspended?.reason ?? null
  const setDisabled = (disabled: boolean) => identity.administration.setDisabled(owner.id, disabled)
  await report(reporter, game.id)
  await setDisabled(true)
  const account = await suspended()
  const made = await decide(moderator, game.id, 'suspend', REASON)
  t.match(made.body, { changed: true })
  await setDisabled(false)
  t.equal(await suspended(), REASON)
  await setDisabled(true)
  t.equal(await suspended(), REASON)
  t.equal((await undo(moderator, made)).status, 200)
  t.equal(await suspended(), account, 'the owner is disabled still')
  await setDisabled(false)
  t.equal(await suspended(), null)
  await games.suspensions.suspend(game.id, account ?? '')
  await setDisabled(true)
  await setDisabled(false)
  t.equal(await suspended(), account, 'the words of a reason are no state')
})

t.test('an undo reverses the state that its decision made, and nothing else', async (t) => {
  const { platform, admin, moderator, owner, reporter, game, report, tell } = await openModeration(t)
  const { app } = platform
  const { administration } = app.identity
  const changedSince = { status: 409, body: { error: { code: 'changed_since' } } }
  const disabled = async () => (await administration.find(owner.id)).disabled
  await report(reporter, owner.id)
  const first = await decide(moderator, owner.id, 'disable', 'Spam.')
  await administration.setDisabled(owner.id, false)
  await administration.setDisabled(owner.id, true, { reason: 'Something else.' })
  t.match(await undo(moderator, first), changedSince)
  t.equal(await disabled(), true)
  await administration.setDisabled(owner.id, false)

  await report(reporter, game.id)
  const suspends = await decide(moderator, game.id, 'suspend', REASON)
  await app.games.suspensions.lift(game.id)
  await app.games.suspensions.suspend(game.id, REASON)
  t.match(await undo(moderator, suspends), changedSince, 'the same words, another suspension')
  await app.games.suspensions.lift(game.id)
  await tell(suspends.body.id)
  const subjects = (await app.moderation.messages.of(owner.id)).map(({ subject }) => subject)
  t.same(subjects, [], 'the owner of a game that was let in again does not read that it is suspended')

  await report(reporter, game.id)
  const again = await decide(moderator, game.id, 'suspend', REASON)
  await report(platform.stranger, owner.id)
  await app.db.execute("update reports set state = 'open', target_id = ?, target_kind = 'game' where target_id = ?", [
    game.id,
    owner.id,
  ])
  t.match((await decide(admin, game.id, 'suspend', 'Yes.')).body, { changed: false })
  t.match(await undo(moderator, again), changedSince, 'somebody else upheld it')
  t.match((await app.games.get(game.id)).suspended, { reason: REASON })
})

t.test('a moderator lifts no suspension of their own, and approves no game of their own', async (t) => {
  const { platform, moderator } = await openModeration(t)
  const { games, assets } = platform.app
  const game = await platform.game(moderator, { title: 'Own' })
  await games.suspensions.suspend(game.id, REASON)
  t.equal((await moderator.submit(`/admin/games/${game.id}/lift`, {})).status, 403)
  const milder = await moderator.submit(`/admin/games/${game.id}/suspend`, { reason: 'A trifle.' })
  t.equal(milder.status, 403, 'nor is the reason replaced')
  t.match((await games.get(game.id)).suspended, { reason: REASON })
  const by = { id: moderator.id, role: 'moderator' } as const
  await platform.app.db.execute("update games set approval = 'waiting' where id = ?", [game.id])
  await t.rejects(games.approvals.approve(game.id, by), { code: 'forbidden' })
  await t.resolves(games.suspensions.lift(game.id, { ...by, role: 'admin' }))
  const { payload, headers } = form(await sheet(4), { title: 'Own' })
  const { body } = await (await platform.program(moderator)).post('/api/assets', payload, { headers })
  await assets.suspensions.suspend(body.id, REASON)
  t.equal((await moderator.submit(`/admin/assets/${body.slug}/lift`, {})).status, 403)
})

t.test('staff get a digest only while something is open, and old rows go', async (t) => {
  const smtp = await startSmtp(t)
  const { platform, admin, moderator, reporter, game, report } = await openModeration(t, { config: mailBy(smtp) })
  const { app, clock } = platform
  // The kit has made API tokens, about which there are mails.
  await until(() => smtp.tokenNotices.length > 0)
  await until(async () => (await app.db.query(LETTERS)).length === 0)
  await sendDigest(app)
  t.same(await app.db.query(LETTERS), [])
  await report(reporter, game.id, { category: 'malware' })
  await sendDigest(app)
  await until(() => smtp.inbox.length >= 2)
  t.same(smtp.inbox.flatMap(({ to }) => to).toSorted(), [admin.account.email, moderator.account.email].toSorted())
  t.match(smtp.inbox[0], {
    subject: /^1 reported thing waits/,
    text: /URGENT: game Pong: 1 \(malware\)[\s\S]*\/admin\/reports/,
  })
  t.equal((await decide(moderator, game.id, 'dismiss')).status, 201)
  await report(reporter, game.id)
  clock.advance(181 * 86_400_000)
  await sweepReports(app, 180, new AbortController().signal)
  t.match(await app.db.query('select state from reports'), [{ state: 'open' }])
  t.same(await app.db.query('select id from report_decisions'), [])
})

const LETTERS = "select id from background_jobs where name = 'oauth-idp/letter'"

type Smtp = Awaited<ReturnType<typeof startSmtp>>
/** Sends mail to the server, except the daily digest, whose first time is soon after the start. */
const mailBy = ({ url }: Smtp) => ({
  mail: { driver: 'smtp', url, from: 'yard@example.org' },
  moderation: { digest: false },
})
