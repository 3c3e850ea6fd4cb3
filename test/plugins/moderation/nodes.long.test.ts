// Staff on two nodes decide at once about the same report, game and player.
import t from 'tap'
import { amount } from '../../kit/extent.ts'
import { Client, PASSWORD, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { openModeration } from './kit.ts'

const ROUNDS = amount(2, 8)

t.test('of decisions on two nodes at once each report has one, and each is undone once', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  const { platform: one, admin, moderator, report, audited } = await openModeration(t, { config })
  const two = await startPlatform(t, { config })
  const onTwo = async ({ account }: PlayerClient) => {
    const client = new Client(two.app)
    t.equal((await client.post('/api/auth/sign-in', { email: account.email, password: PASSWORD })).status, 200)
    return client
  }
  const [adminOnTwo, moderatorOnTwo] = [await onTwo(admin), await onTwo(moderator)]
  const decide = (by: Client, id: string, action: string) =>
    by.post(`/api/admin/reports/${id}`, { action, message: 'Violence.' })
  const undo = (by: Client, decisionId: string) => by.post('/api/admin/reports/undo', { decisionId })
  const decisionsAbout = (ownerId: string) =>
    one.app.db.query<{ id: string; state: string; action: string; changed: number }>(
      `select r.id, r.state, d.action, d.changed from reports r left join report_decisions d on d.id = r.decision_id
       where r.owner_id = ?`,
      [ownerId],
    )

  // The nodes have no common bus, and each remembers accounts for some seconds.
  const isDisabled = async (id: string) => {
    const [row] = await one.app.db.query<{ disabled: number }>('select disabled from players where id = ?', [id])
    return Boolean(row?.disabled)
  }

  for (let round = 0; round < ROUNDS; round++) {
    const [owner, reporter] = [await one.signUp(), await one.signUp()]
    const [first, second] = [await one.game(owner), await one.game(owner, { title: 'Second' })]
    for (const id of [first.id, second.id, owner.id]) t.equal((await report(reporter, id)).status, 201)

    const before = (await audited()).length
    const same = await Promise.all([
      decide(moderator, first.id, 'suspend'),
      decide(adminOnTwo, first.id, 'dismiss'),
      decide(moderatorOnTwo, first.id, 'suspend'),
    ])
    t.same(same.map(({ status }) => status).toSorted(), [201, 409, 409], 'one of three decides about a game')
    t.equal((await audited()).length, before + 1)
    const decisionId = same.find(({ status }) => status === 201)?.body.id
    const undone = await Promise.all([undo(moderator, decisionId), undo(adminOnTwo, decisionId)])
    t.same(undone.map(({ status }) => status).toSorted(), [200, 409], 'and one of two undoes it')
    t.equal((await one.app.games.get(first.id)).suspended, null)

    // Each closes the reports about all things of the owner.
    const several = await Promise.all([
      decide(moderator, first.id, 'disable'),
      decide(adminOnTwo, second.id, 'disable'),
      decide(moderatorOnTwo, owner.id, 'disable'),
      decide(admin, second.id, 'suspend'),
    ])
    t.notOk(
      several.some(({ status }) => status !== 201 && status !== 409),
      'nobody waits for another in a circle',
    )
    const rows = await decisionsAbout(owner.id)
    t.same(new Set(rows.map(({ state }) => state)), new Set(['upheld']), 'no report stays open')
    const disabling = several.filter(({ status, body }) => status === 201 && body.action === 'disable')
    t.equal(disabling.filter(({ body }) => body.changed).length, 1, 'one decision disabled the owner')
    t.equal(await isDisabled(owner.id), true)
    const [own] = disabling.filter(({ body }) => body.changed)
    const enabled = await Promise.all([undo(admin, own?.body.id), undo(moderatorOnTwo, own?.body.id)])
    t.same(enabled.map(({ status }) => status).toSorted(), [200, 409])
    t.equal(await isDisabled(owner.id), false)
  }
})
