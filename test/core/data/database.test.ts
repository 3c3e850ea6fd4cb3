import { defineEntity, p } from '@mikro-orm/core'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { consumeOnce, markOnce } from '../../../core/data/consume-once.ts'
import { Database } from '../../../core/data/database.ts'
import type { Migration } from '../../../core/data/migrations.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { captureLog, driverContext, manualClock } from '../../kit/driver-context.ts'

const CodeSchema = defineEntity({
  name: 'Code',
  tableName: 'codes',
  properties: {
    id: p.string().length(30).primary(),
    owner: p.string().length(30),
    usedAt: p.datetime(3).nullable(),
  },
})
class Code extends CodeSchema.class {}
CodeSchema.setClass(Code)

const codes: Migration = {
  name: '2026_11_21_codes',
  sqlite: ['create table codes (id text primary key, owner text not null, used_at datetime null)'],
  postgres: [
    'create table codes (id varchar(30) primary key, owner varchar(30) not null, used_at timestamptz(3) null)',
  ],
}

const driver = () => sqlite.create({ file: ':memory:', durability: 'full', busyTimeout: 300 }, driverContext())

async function open(t: Test, { migrations = [codes], log = driverContext().log, clock = systemClock } = {}) {
  const db = await Database.open(await driver(), { entities: [Code], migrations, log, clock })
  t.teardown(() => db.close())
  return db
}

t.test('migrations run in the order of their names, whoever brings them, and are logged and dated', async (t) => {
  const second = { name: '2026_11_22_second', sqlite: ['create table second as select * from first'], postgres: [] }
  const first = { name: '2026_11_21_first', sqlite: ['create table first (id text)'], postgres: [] }
  const { log, lines } = captureLog()
  const clock = manualClock()
  const db = await open(t, { migrations: [second, first], log, clock })
  t.same(await db.query('select name, applied_at from schema_migrations order by name'), [
    { name: first.name, applied_at: clock.now().getTime() },
    { name: second.name, applied_at: clock.now().getTime() },
  ])
  t.match(lines(), [{ migrations: 2, msg: 'database created' }])
})

t.test('two migrations of one name stop the start', async (t) => {
  await t.rejects(open(t, { migrations: [codes, { ...codes }] }), {
    name: 'StartupError',
    message: /Two migrations are named 2026_11_21_codes/,
  })
})

t.test('a database that could not be migrated is closed again', async (t) => {
  const broken = await driver()
  const migrations = [{ name: 'broken', sqlite: ['nonsense'], postgres: [] }]
  const { log, clock } = driverContext()
  await t.rejects(Database.open(broken, { entities: [], migrations, log, clock }))
  await t.rejects(broken.query('select 1', []), /not open/)
})

t.test('every entity manager remembers for itself', async (t) => {
  const db = await open(t)
  await db.em().insert(Code, { id: 'one', owner: 'a' })
  const first = db.em()
  const loaded = await first.findOneOrFail(Code, 'one')
  loaded.owner = 'changed, and never saved'
  t.equal((await db.em().findOneOrFail(Code, 'one')).owner, 'a')
})

t.test('a transaction saves what its entity manager changed, and returns what its work does', async (t) => {
  const db = await open(t)
  await db.em().insert(Code, { id: 'one', owner: 'a' })
  const id = await db.transaction(async (em) => {
    const code = await em.findOneOrFail(Code, 'one')
    code.owner = 'b'
    return code.id
  })
  t.equal(id, 'one')
  t.same(await db.query('select owner from codes'), [{ owner: 'b' }])
})

t.test('a single-use thing that was consumed inside a transaction that fails is there again', async (t) => {
  const db = await open(t)
  await db.em().insert(Code, { id: 'one', owner: 'a' })
  await t.rejects(
    db.transaction(async (em) => {
      t.equal(await consumeOnce(em, Code, { id: 'one' }), true)
      t.equal(await consumeOnce(em, Code, { id: 'one' }), false)
      throw new Error('later trouble')
    }),
    /later trouble/,
  )
  t.equal(await consumeOnce(db.em(), Code, { id: 'one' }), true)
})

t.test('a single-use condition that names more than one row is a mistake, and says so', async (t) => {
  const db = await open(t)
  await db.em().insertMany(Code, [
    { id: 'one', owner: 'a' },
    { id: 'two', owner: 'a' },
  ])
  await t.rejects(
    db.transaction((em) => consumeOnce(em, Code, { owner: 'a' })),
    /met 2 rows/,
  )
  await t.rejects(
    db.transaction((em) => markOnce(em, Code, { owner: 'a', usedAt: null }, { usedAt: new Date() })),
    /met 2 rows/,
  )
  t.equal(await db.em().count(Code, { usedAt: null }), 2)
})
