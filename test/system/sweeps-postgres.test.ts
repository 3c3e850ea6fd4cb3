// In a process of its own: ids never go back, and other files have been further in time.
import t from 'tap'
import { deleteInBatches } from '../../core/data/database.ts'
import { GarbageCollector } from '../../plugins/deploy/blobs/garbage-collector.ts'
import { Retention } from '../../plugins/deploy/retention.ts'
import { startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'

t.test('what removes old rows by itself runs on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const database = { driver: 'postgres', url }
  const platform = await startPlatform(t, {
    config: { database, secret: 'a secret of the cluster, long enough for it' },
  })
  const { app } = platform
  await platform.signUp()
  const never = new AbortController().signal
  await app.identity.sweep(never)
  await app.tokens.sweep(never)
  await app.jobs.forgetFailed(never)
  await new Retention(app, 20).sweep(never)
  await new GarbageCollector(app).collect(never)
  await app.assets.changes.sweep(never)
  await app.edge.embedded.tickets.sweep(never)
  t.equal(await app.identity.administration.count(), 1)

  for (const visitor of ['one', 'two', 'three'])
    await app.db.execute('insert into game_visitors (date, game_id, visitor) values (?, ?, ?)', [
      '2026-01-02',
      'gam',
      visitor,
    ])
  const key = ['date', 'game_id', 'visitor']
  const before = (date: string) =>
    deleteInBatches(app.db, { table: 'game_visitors', key, where: 'date < ?', parameters: [date] }, never)
  t.equal(await before('2026-01-02'), 0)
  t.equal(await before('2026-01-03'), 3)
})
