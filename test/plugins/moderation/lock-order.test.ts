// Decisions and changes of a game's owner lock the same rows. On PostgreSQL none of them may wait for another in a circle:
// the database ends one of the two, and its request fails.
import pg from 'pg'
import t, { type Test } from 'tap'
import type { PlayerClient } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { until } from '../../kit/until.ts'
import { openModeration } from './kit.ts'

/** A reported game of Olga's, which Mae makes too. */
async function start(t: Test) {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  const world = await openModeration(t, { config })
  const { platform, owner, reporter, game, report } = world
  const maker = await platform.signUp({ name: 'Mae' })
  await join(owner, game, 'maker', [maker])
  await report(reporter, game.id)
  await report(reporter, owner.id)
  const connect = async () => {
    const client = new pg.Client(url)
    await client.connect()
    t.teardown(() => client.end())
    return client
  }
  // A transaction sees what other connections do as it was at first, so another one watches.
  const [client, watcher] = [await connect(), await connect()]
  const waiting = `select count(*)::int from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  const waiters = async () => (await watcher.query(waiting)).rows[0].count as number

  /**
   * Begins requests in their order while this connection holds rows. Each gets as far as it can before the next one, and
   * all go on at once.
   */
  async function race<Answer>(hold: string, requests: (() => Promise<Answer>)[]): Promise<Answer[]> {
    await client.query('begin')
    await client.query(hold)
    const answers: Promise<Answer>[] = []
    for (const request of requests) {
      let isOver = false
      answers.push(request().finally(() => (isOver = true)))
      await until(async () => isOver || (await waiters()) === answers.length)
    }
    await client.query('commit')
    return Promise.all(answers)
  }
  return { ...world, app: platform.app, maker, race }
}

/** Makes whoever disables or enables an account wait, and none who is only asked about. */
const HOLD_ADMINS = 'select id from players where is_admin for no key update'
const HOLD_REPORTS = 'select id from reports for update'

const decide = (by: Pick<PlayerClient, 'post'>, id: string, action: string) =>
  by.post(`/api/admin/reports/${id}`, { action, message: 'Violence.' })

t.test('the owner of an offered game is disabled while the maker accepts it', needsPostgres, async (t) => {
  const { platform, moderator, owner, maker, game, race, states } = await start(t)
  const transfer = `/api/games/${game.id}/transfer`
  t.equal((await owner.post(transfer, { playerId: maker.id })).status, 201)
  const [decided, accepted] = await race(HOLD_ADMINS, [
    () => decide(moderator, owner.id, 'disable'),
    () => maker.post(`${transfer}/accept`),
  ])
  t.match(decided, { status: 201, body: { changed: true, reports: 2 } })
  t.match(accepted, { status: 451, body: { error: { code: 'suspended' } } }, 'the decision was first')
  t.same(await states(), ['upheld', 'upheld'])
  t.equal((await platform.app.games.get(game.id)).ownerId, owner.id)
})

t.test('a game is suspended while somebody reports it again', needsPostgres, async (t) => {
  const { moderator, reporter, game, race, report, states } = await start(t)
  const [decided, reported] = await race(HOLD_REPORTS, [
    () => decide(moderator, game.id, 'suspend'),
    () => report(reporter, game.id, { category: 'harm' }),
  ])
  t.match(decided, { status: 201, body: { changed: true, reports: 1 } })
  t.match(reported, { status: 201 }, 'the first report was closed already')
  t.same(await states(), ['upheld', 'open', 'open'])
})

t.test('a dismissal is undone while a maker accepts the game', needsPostgres, async (t) => {
  const { platform, moderator, owner, maker, game, race, states } = await start(t)
  const decided = await decide(moderator, game.id, 'dismiss')
  t.equal(decided.status, 201)
  const transfer = `/api/games/${game.id}/transfer`
  t.equal((await owner.post(transfer, { playerId: maker.id })).status, 201)
  const [accepted, undone] = await race(HOLD_REPORTS, [
    () => maker.post(`${transfer}/accept`),
    () => moderator.post('/api/admin/reports/undo', { decisionId: decided.body.id }),
  ])
  t.match(undone, { status: 200 })
  t.match(accepted, { status: 204 })
  t.same(await states(), ['open', 'open'])
  t.equal((await platform.app.games.get(game.id)).ownerId, maker.id)
})

t.test('a decision is not about who owned the game before', needsPostgres, async (t) => {
  const { app, moderator, owner, maker, game, race, states } = await start(t)
  const hold = `select id from games where id = '${game.id}' for update;
    update games set owner_id = '${maker.id}' where id = '${game.id}'`
  for (const action of ['disable', 'suspend', 'dismiss']) {
    const [decided] = await race(hold, [() => decide(moderator, game.id, action)])
    t.match(decided, { status: 409, body: { error: { code: 'changed_since' } } }, action)
    await app.db.execute('update games set owner_id = ? where id = ?', [owner.id, game.id])
  }
  t.same(await states(), ['open', 'open'])
  for (const { id } of [owner, maker]) t.equal((await app.identity.players.find(id))?.disabled, false)
  t.equal((await app.games.get(game.id)).suspended, null)
})

t.test('the staff hand over no game whose owner is enabled at that moment', needsPostgres, async (t) => {
  const { app, admin, owner, maker, game, race } = await start(t)
  await app.identity.administration.setDisabled(owner.id, true, { withContent: true })
  const hold = `select id from players where id = '${owner.id}' for update;
    update players set disabled = false where id = '${owner.id}'`
  const [given] = await race(hold, [() => admin.submit(`/admin/games/${game.id}/hand-over`, { maker: maker.id })])
  t.match(given, { status: 409, text: /The account of the owner is not disabled/ })
  t.equal((await app.games.get(game.id)).ownerId, owner.id)
})
