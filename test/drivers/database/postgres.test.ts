import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database } from '../../../core/data/database.ts'
import { createLog } from '../../../core/observe/log.ts'
import { testDatabaseDriver } from '../../../drivers/database/conformance.ts'
import { Account, entities, migrations } from '../../../drivers/database/conformance-entities.ts'
import postgres from '../../../drivers/database/postgres.ts'
import { numbered } from '../../../drivers/database/postgres-pool.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const connect = (url: string) => postgres.create({ url, poolSize: 8, ssl: 'off' }, driverContext())

if (needsPostgres.skip) t.test('database driver postgres', needsPostgres, async () => {})
else
  testDatabaseDriver({
    name: 'postgres',
    create: async () => {
      const url = await (await startPostgres()).database()
      return () => connect(url)
    },
    supports: { several: true, backup: false },
  })

t.test('postgres comes back after an outage without a restart', needsPostgres, async (t) => {
  const server = await startPostgres()
  const driver = await connect(await server.database())
  const db = await Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })
  t.teardown(() => db.close())
  await db.em().insert(Account, { id: 'a', balance: 1 })
  const unavailable = { code: 'database_unavailable', statusCode: 503 }

  // These run when the server stops: a raw statement, an entity manager's, a transaction.
  const under = [
    db.query('select pg_sleep(20)'),
    db.em().execute('select pg_sleep(20)'),
    db.transaction(async (em) => {
      await em.insert(Account, { id: 'b', balance: 1 })
      await em.execute('select pg_sleep(20)')
    }),
  ].map((work: Promise<unknown>) => t.rejects(work, unavailable))
  await sleep(300)
  await server.stop()
  await Promise.all(under)

  await t.rejects(db.ping(), unavailable)
  await t.rejects(db.execute('delete from conformance_accounts'), unavailable)
  await t.rejects(db.em().findOne(Account, 'a'), unavailable)
  await t.rejects(
    db.transaction(async () => {}),
    unavailable,
  )

  await server.start()
  const begun = performance.now()
  while (
    !(await db.ping().then(
      () => true,
      () => false,
    ))
  )
    await sleep(50)
  t.ok(performance.now() - begun < 5000)
  t.same(
    (await db.em().find(Account, {})).map((account) => account.id),
    ['a'],
  )
  await db.transaction((em) => em.insert(Account, { id: 'c', balance: 1 }))
})

t.test('who asks while postgres restarts waits for it', needsPostgres, async (t) => {
  const server = await startPostgres()
  const driver = await connect(await server.database())
  const db = await Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })
  t.teardown(() => db.close())
  await db.em().insert(Account, { id: 'a', balance: 1 })
  await server.stop()
  const asked = [
    db.query('select 1 as one'),
    db.execute('update conformance_accounts set balance = balance + 1'),
    db.em().findOneOrFail(Account, 'a'),
    db.transaction((em) => em.insert(Account, { id: 'b', balance: 1 })),
    db.groupCommit(({ execute }) => execute('update conformance_accounts set balance = balance + 1')),
  ]
  const [answers] = await Promise.all([Promise.allSettled(asked), server.start()])
  t.same(
    answers.map(({ status }) => status),
    asked.map(() => 'fulfilled'),
  )
})

t.test('an entity manager converts nothing that it should not', needsPostgres, async (t) => {
  const driver = await connect(await (await startPostgres()).database())
  const db = await Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })
  t.teardown(() => db.close())
  await t.rejects(db.query('selec 1'), { code: '42601' })
  await t.rejects(db.em().execute('select * from nowhere'), { name: 'TableNotFoundException' })
})

t.test('a server that refuses stops the start with one sentence, without the password', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const wrong = url.replace('only-on-loopback', 'wrong-password')
  for (const [place, reason] of [
    [wrong, /password authentication failed.*check database\.url/],
    [`${url}_absent`, /does not exist.*check database\.url/],
    ['postgres://u:wrong-password@127.0.0.1:1/none', /127\.0\.0\.1:1\/none can't be used \(.*ECONNREFUSED/],
    ['wrong-password', /not of the form/],
  ] as const) {
    const error = await connect(place)
      .then((driver) => driver.open([]).finally(() => driver.close()))
      .then(
        () => null,
        (error) => error,
      )
    t.equal(error?.name, 'StartupError')
    t.match(error?.message, reason)
    t.notMatch(error?.message, /wrong-password/)
  }
})

t.test('placeholders are numbered outside of quotes', async (t) => {
  t.equal(
    numbered(`select '?', "?" from x where a = ? and b in (?, ?)`),
    `select '?', "?" from x where a = $1 and b in ($2, $3)`,
  )
  t.equal(numbered(`select 'it''s ?' where a = ?`), `select 'it''s ?' where a = $1`)
})
