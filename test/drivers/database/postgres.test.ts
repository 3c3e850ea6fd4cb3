import { once } from 'node:events'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
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
import { freePort } from '../../kit/server.ts'
import { until } from '../../kit/until.ts'

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
    db.query('select pg_sleep(3600)'),
    db.em().execute('select pg_sleep(3600)'),
    db.transaction(async (em) => {
      await em.insert(Account, { id: 'b', balance: 1 })
      await em.execute('select pg_sleep(3600)')
    }),
  ].map((work: Promise<unknown>) => t.rejects(work, unavailable))
  const sleeping = `select count(*) as count from pg_stat_activity
    where datname = current_database() and state = 'active' and query like 'select pg_sleep%'`
  await until(async () => Number((await db.query<{ count: unknown }>(sleeping))[0]?.count) === under.length)
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
  await until(() =>
    db.ping().then(
      () => true,
      () => false,
    ),
  )
  t.same(
    (await db.em().find(Account, {})).map((account) => account.id),
    ['a'],
  )
  await db.transaction((em) => em.insert(Account, { id: 'c', balance: 1 }))
})

t.test('statements go on when a newer version widens a column that they read', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const open = async () =>
    Database.open(await connect(url), { entities, migrations, log: createLog('silent'), clock: systemClock })
  const [older, newer] = [await open(), await open()]
  t.teardown(() => Promise.all([older.close(), newer.close()]))
  const widen = (length: number) =>
    newer.em().execute(`alter table conformance_names alter column name type varchar(${length})`)
  await newer.em().execute('create table conformance_names (name varchar(10) not null)')
  await newer.em().execute("insert into conformance_names (name) values ('Ada')")
  const read = 'select name from conformance_names'
  /** Reads on all connections of the pool at once. */
  const readByAll = () => {
    const waiting = Promise.withResolvers<void>()
    let begun = 0
    return Promise.all(
      Array.from({ length: 8 }, () =>
        older.groupCommit(async ({ query }) => {
          const rows = await query(read)
          if (++begun === 8) waiting.resolve()
          await waiting.promise
          return rows
        }),
      ),
    )
  }
  const all = Array.from({ length: 8 }, () => [{ name: 'Ada' }])
  t.same(await readByAll(), all)
  await widen(20)
  t.same(await Promise.all(all.map(() => older.query(read))), all)
  t.same(await readByAll(), all, 'each connection has prepared it again')
  await widen(30)
  // A transaction in which a statement has failed is over, and the client sends the request again.
  const inTransaction = () => older.groupCommit(({ query }) => query(read))
  await t.rejects(inTransaction(), { code: 'database_unavailable', statusCode: 503 })
  t.same(await inTransaction(), [{ name: 'Ada' }])
  t.same(await readByAll(), all)
})

t.test('who asks while postgres restarts waits for it', needsPostgres, async (t) => {
  // Connections pass a relay, whose return takes less time than that of a whole server on a busy machine.
  const url = new URL(await (await startPostgres()).database())
  const server = Number(url.port)
  const open = new Set<Socket>()
  const relay = createServer((near) => {
    const far = openSocket(server, '127.0.0.1')
    for (const socket of [near, far]) open.add(socket.on('error', () => {}))
    near.pipe(far).pipe(near)
  })
  const listen = async (port: number) => void (await once(relay.listen(port, '127.0.0.1'), 'listening'))
  const hangUp = () => {
    relay.close()
    for (const socket of open) socket.destroy()
  }
  const port = await freePort()
  await listen(port)
  url.port = String(port)
  const driver = await connect(url.href)
  const db = await Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })
  t.teardown(async () => {
    await db.close()
    hangUp()
  })
  await db.em().insert(Account, { id: 'a', balance: 1 })
  hangUp()
  // The client notices in the next turn of the event loop.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  const asked = [
    db.query('select 1 as one'),
    db.execute('update conformance_accounts set balance = balance + 1'),
    db.em().findOneOrFail(Account, 'a'),
    db.transaction((em) => em.insert(Account, { id: 'b', balance: 1 })),
    db.groupCommit(({ execute }) => execute('update conformance_accounts set balance = balance + 1')),
  ]
  await sleep(200) // The first attempts fail.
  await listen(port)
  const answers = await Promise.allSettled(asked)
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
