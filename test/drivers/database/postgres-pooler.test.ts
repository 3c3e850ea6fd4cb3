import t from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database } from '../../../core/data/database.ts'
import { Account, entities, migrations } from '../../../drivers/database/conformance-entities.ts'
import postgres from '../../../drivers/database/postgres.ts'
import { captureLog, driverContext } from '../../kit/driver-context.ts'
import { inFull } from '../../kit/extent.ts'
import { needsPgBouncer, startPgBouncer } from '../../kit/pgbouncer.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const skip = needsPostgres.skip || needsPgBouncer.skip

/** Opens the database as one node of several. */
async function openNode(url: string) {
  const { log, lines } = captureLog()
  const driver = await postgres.create({ url, poolSize: 4, ssl: 'off' }, driverContext({ log }))
  try {
    const db = await Database.open(driver, { entities, migrations, log, clock: systemClock })
    return { db, said: () => lines().map(({ msg }) => String(msg)) }
  } catch (error) {
    await driver.close()
    throw error
  }
}

/** Counts the statements with names of the platform that the backend of a query knows. */
const NAMED = `select count(*) as count from pg_prepared_statements
  where name like 'gameyard_%' and name not like 'gameyard_pooler_%'`
const namedStatements = async (db: Database) => Number((await db.query<{ count: number }>(NAMED))[0]?.count)

const WITHOUT_NAMES = 'a pooler shares connections by transaction: statements are parsed at each execution'

t.test('two nodes share the backends of a pooler that shares by transaction', { skip }, async (t) => {
  const pooler = await startPgBouncer(t, await (await startPostgres()).database(), 'transaction')
  const nodes = [await openNode(pooler.url), await openNode(pooler.url)]
  t.teardown(() => Promise.all(nodes.map(({ db }) => db.close())))
  for (const { said } of nodes) t.ok(said().includes(WITHOUT_NAMES))
  const [one, other] = nodes.map(({ db }) => db) as [Database, Database]
  await one.em().insert(Account, { id: 'a', balance: 1 })

  // The first statement of the one node reads, that of the other writes.
  const read = 'select balance from conformance_accounts where id = ?'
  const add = 'update conformance_accounts set balance = balance + 1 where id = ?'
  const rounds = await Promise.all(
    Array.from({ length: 20 }, async () => [
      await one.query(read, ['a']),
      await other.execute(add, ['a']),
      await other.groupCommit(async ({ query }) => query(read, ['a'])),
    ]),
  )
  t.ok(rounds.flat().every((answer) => answer === 1 || (answer as object[]).length === 1))
  t.same(await one.query(read, ['a']), [{ balance: 21 }])
  t.equal(await namedStatements(one), 0)

  // A node that stops writing stops no other.
  await one.setReadOnly(true)
  await t.rejects(one.execute(add, ['a']), { code: 'writes_stopped' })
  await Promise.all(Array.from({ length: 4 }, () => one.query(read, ['a'])))
  t.same(await Promise.all(Array.from({ length: 4 }, () => other.execute(add, ['a']))), [1, 1, 1, 1])
  await one.setReadOnly(false)
  t.equal(await one.execute(add, ['a']), 1)
  await Promise.all(nodes.map(({ db }) => db.ping()))
})

/** Debian 12 has an older one. */
const newer = process.env.GAMEYARD_PGBOUNCER
const noNewer = newer ? false : 'GAMEYARD_PGBOUNCER names no PgBouncer of version 1.21 or later'

inFull(t)?.test('statements have names behind a pooler that prepares them', { skip: skip || noNewer }, async (t) => {
  const settings = 'max_prepared_statements = 100'
  const database = await (await startPostgres()).database()
  const pooler = await startPgBouncer(t, database, 'transaction', { settings, program: newer ?? '' })
  const nodes = [await openNode(pooler.url), await openNode(pooler.url)]
  t.teardown(() => Promise.all(nodes.map(({ db }) => db.close())))
  for (const { said } of nodes) t.notOk(said().includes(WITHOUT_NAMES))
  const [one, other] = nodes.map(({ db }) => db) as [Database, Database]
  await one.em().insert(Account, { id: 'a', balance: 1 })
  const read = 'select balance from conformance_accounts where id = ?'
  const add = 'update conformance_accounts set balance = balance + 1 where id = ?'
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      Promise.all([
        one.query(read, ['a']),
        other.execute(add, ['a']),
        other.groupCommit(async ({ query }) => query(read, ['a'])),
        // More statements than the pooler keeps.
        one.query(`select ${index} as number`),
        other.query(`select ${index + 100} as number`),
      ]),
    ),
  )
  t.same(await one.query(read, ['a']), [{ balance: 41 }])
  const prepared = await one.query<{ count: number }>(
    "select count(*) as count from pg_prepared_statements where name like 'PGBOUNCER_%'",
  )
  t.ok(Number(prepared[0]?.count) > 0, 'the pooler has prepared them')
  await Promise.all(nodes.map(({ db }) => db.ping()))
})

t.test('statements have names behind a pooler that shares by session, until it no longer does', { skip }, async (t) => {
  const pooler = await startPgBouncer(t, await (await startPostgres()).database(), 'session')
  const { db, said } = await openNode(pooler.url)
  t.teardown(() => db.close())
  await db.query('select 1 as one')
  t.ok((await namedStatements(db)) > 0)
  t.notOk(said().includes(WITHOUT_NAMES))

  await t.test('a statement that a backend does not know runs without a name', async (t) => {
    await db.query('deallocate all')
    t.same(await db.query('select 1 as one'), [{ one: 1 }])
    await pooler.share('statement')
    await t.rejects(db.ping(), /shares connections by statement.*pool_mode/)
    await pooler.share('transaction')
    await db.ping()
  })
})

t.test('every node gives the same statement the same name, and only that one', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const nodes = [await openNode(url), await openNode(url)]
  t.teardown(() => Promise.all(nodes.map(({ db }) => db.close())))
  const statements = ['select 1 as one', 'select 2 as two', 'select 3 as three']
  const names = await Promise.all(
    nodes.map(async ({ db }, index) => {
      for (const sql of index === 0 ? statements : statements.toReversed()) await db.query(sql)
      return db.query<{ statement: string; name: string }>(
        "select statement, name from pg_prepared_statements where statement ~ '^select . as' order by statement",
      )
    }),
  )
  t.same(
    names[0]?.map(({ statement }) => statement),
    statements,
  )
  t.same(names[0], names[1])
})

t.test('a pooler that shares by statement is refused with one sentence', { skip }, async (t) => {
  const pooler = await startPgBouncer(t, await (await startPostgres()).database(), 'statement')
  await t.rejects(openNode(pooler.url), {
    name: 'StartupError',
    message: /^The pooler at 127\.0\.0\.1:\d+\/test_\w+ shares connections by statement.*pool_mode to transaction/,
  })
})
