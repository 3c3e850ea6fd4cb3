import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { raw } from '@mikro-orm/core'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database } from '../../../core/data/database.ts'
import { createLog } from '../../../core/observe/log.ts'
import { testDatabaseDriver } from '../../../drivers/database/conformance.ts'
import { Account, entities, Item, migrations } from '../../../drivers/database/conformance-entities.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { setNativeBinding } from '../../../drivers/database/sqlite-native.ts'
import { driverContext } from '../../kit/driver-context.ts'

const folder = await mkdtemp(join(tmpdir(), 'gameyard-sqlite-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
let used = 0
const settings = { durability: 'normal', busyTimeout: 1000 } as const

testDatabaseDriver({
  name: 'sqlite, in a file',
  create: async () => {
    const dataDir = join(folder, String(used++))
    return async () => sqlite.create({ file: 'gameyard.db', ...settings }, driverContext({ dataDir }))
  },
  supports: { several: true, backup: true },
})

testDatabaseDriver({
  name: 'sqlite, in memory',
  create: async () => async () => sqlite.create({ file: ':memory:', ...settings }, driverContext()),
  supports: { several: false, backup: true },
})

async function open(t: Test, file: string, more: object = {}) {
  const driver = await sqlite.create({ file, ...settings, ...more }, driverContext({ dataDir: folder }))
  const db = await Database.open(driver, { entities, migrations, log: createLog('silent'), clock: systemClock })
  t.teardown(() => db.close())
  return db
}

t.test('a file that is damaged, or is none, stops the start with one sentence', async (t) => {
  await writeFile(join(folder, 'garbage.db'), 'not a database, whatever its name says. '.repeat(100))
  await t.rejects(open(t, 'garbage.db'), {
    name: 'StartupError',
    message: /garbage\.db is damaged \(file is not a database\); restore a backup/,
  })
  await open(t, 'cut.db').then((db) => db.close())
  await truncate(join(folder, 'cut.db'), 5000)
  await t.rejects(open(t, 'cut.db'), { name: 'StartupError', message: /cut\.db is damaged/ })
  await mkdir(join(folder, 'folder.db'))
  await t.rejects(open(t, 'folder.db'), { name: 'StartupError', message: /folder\.db can't be used/ })
  await t.rejects(open(t, 'garbage.db/below.db'), { name: 'StartupError', message: /below\.db can't be made/ })
})

t.test('a commit waits for the disk unless configured otherwise', async (t) => {
  const full = await open(t, 'full.db', { durability: 'full' })
  t.match(await full.em().execute('pragma synchronous'), [{ synchronous: 2 }])
  t.match(await full.em().execute('pragma journal_mode'), [{ journal_mode: 'wal' }])
  t.match(await full.em().execute('pragma wal_autocheckpoint'), [{ wal_autocheckpoint: 4000 }], 'a long log')
  const normal = await open(t, 'normal.db', { durability: 'normal' })
  t.match(await normal.em().execute('pragma synchronous'), [{ synchronous: 1 }])
})

t.test('a write from elsewhere inside a transaction gives up with a reason', async (t) => {
  const db = await open(t, 'inside.db')
  await db.transaction(async (em) => {
    await em.insert(Account, { id: 'a', balance: 1 })
    await t.rejects(db.em().insert(Account, { id: 'b', balance: 1 }), {
      code: 'database_busy',
      message: /too much to write right now/,
      headers: { 'retry-after': '1' },
      cause: { message: /^A transaction has .* use the entity manager that it passes/ },
    })
    await t.rejects(
      db.transaction(async () => {}),
      { code: 'database_busy' },
    )
    await t.rejects(db.execute('delete from conformance_accounts'), { code: 'database_busy' })
  })
  t.same(await db.query('select id from conformance_accounts'), [{ id: 'a' }])
  t.equal(await db.execute('delete from conformance_accounts'), 1, 'and works again afterwards')
})

t.test('a write that waits behind several others gives up, and nobody gets advice about transactions', async (t) => {
  const db = await open(t, 'several.db')
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const first = db.transaction(() => begun)
  const second = db.transaction(() => third.catch(() => {}))
  const third = db.transaction(async () => {})
  begin()
  const cause = { message: 'Others have held the database for more than 1000 ms.' }
  await t.rejects(third, { code: 'database_busy', cause })
  await Promise.all([first, second])
})

t.test('another process that writes for long holds up a write, but not the event loop', async (t) => {
  const db = await open(t, 'other.db', { busyTimeout: 2000 })
  const other = new Sqlite(join(folder, 'other.db'))
  t.teardown(() => other.close())

  other.exec('begin immediate')
  // Of two seconds each; a blocked event loop has one turn.
  const writes: (() => Promise<unknown>)[] = [
    () => db.execute('delete from conformance_accounts'),
    () => db.transaction(async () => {}),
  ]
  for (const write of writes) {
    let turns = 0
    const counting = setInterval(() => turns++, 5)
    await t.rejects(write(), { code: 'database_busy', statusCode: 503, message: /is held by another process/ })
    clearInterval(counting)
    t.ok(turns >= 10, `the event loop turned ${turns} times meanwhile`)
  }
  await db.query('select * from conformance_accounts')
  const later = db.transaction((em) => em.insert(Account, { id: 'a', balance: 1 }))
  await sleep(100)
  other.exec('commit')
  await later
  t.equal(await db.em().count(Account), 1)
})

t.test('a full disk refuses what does not fit, whole, and no more', async (t) => {
  const db = await open(t, 'small.db')
  const [pages] = await db.em().execute<{ page_count: number }[]>('pragma page_count')
  await db.em().execute(`pragma max_page_count = ${(pages?.page_count ?? 0) + 20}`)
  const item = { settings: { text: 'x'.repeat(100_000) }, done: false, createdAt: new Date() }
  const work = db.transaction(async (em) => {
    await em.insert(Account, { id: 'a', balance: 1 })
    await em.insert(Item, { id: 'one', key: 'one', ...item }).catch(() => {})
    await em.insert(Account, { id: 'after', balance: 1 })
  })
  await t.rejects(work, /rolled this transaction back/)
  await t.rejects(db.em().insert(Item, { id: 'one', key: 'one', ...item }), { code: 'storage_full', statusCode: 507 })
  t.equal(await db.em().count(Account), 0)
  await db.em().insert(Account, { id: 'fits', balance: 1 })
})

t.test(
  'a migration that rebuilds a table keeps the rows that refer to it, and may not leave a dangling one',
  async (t) => {
    const first = await open(t, 'rebuild.db')
    await first.em().insert(Account, { id: 'a', balance: 1 })
    const item = { key: 'k', settings: {}, done: false, createdAt: new Date() }
    await first.em().insert(Item, { id: 'one', accountId: 'a', ...item })
    await first.close()

    const driver = () => sqlite.create({ file: 'rebuild.db', ...settings }, driverContext({ dataDir: folder }))
    const rebuild = [
      'create table rebuilt (id text not null primary key, balance integer not null, note text null)',
      'insert into rebuilt select id, balance, null from conformance_accounts',
      'drop table conformance_accounts',
      'alter table rebuilt rename to conformance_accounts',
    ]
    const options = { entities, log: createLog('silent'), clock: systemClock }
    const dangling = [...migrations, { name: '9999_lose', sqlite: ['delete from conformance_accounts'], postgres: [] }]
    await t.rejects(
      Database.open(await driver(), { ...options, migrations: dangling }),
      /conformance_items that refers/,
    )
    const rebuilding = [...migrations, { name: '9998_rebuild', sqlite: rebuild, postgres: [] }]
    const db = await Database.open(await driver(), { ...options, migrations: rebuilding })
    t.teardown(() => db.close())
    t.same(await db.query('select account_id from conformance_items'), [{ account_id: 'a' }])
    await db.em().nativeDelete(Account, 'a')
    t.equal(await db.em().count(Item), 0, 'foreign keys hold again')
  },
)

t.test('a program can bring its own compiled addon', async (t) => {
  const { getBinding } = createRequire(import.meta.resolve('better-sqlite3'))('./binding.js')
  let asked = 0
  t.teardown(() => setNativeBinding())
  setNativeBinding(() => {
    asked++
    return { exports: getBinding(null), path: null }
  })
  await (await open(t, 'addon.db')).ping()
  t.equal(asked, 1)
})

t.test('entity managers bind values exactly as SQLite stores them', async (t) => {
  const db = await open(t, ':memory:')
  const cases: [value: unknown, type: string, stored: unknown][] = [
    [null, 'null', null],
    [undefined, 'null', null],
    [7, 'integer', 7],
    [-(2 ** 53) + 1, 'integer', -(2 ** 53) + 1],
    [2n ** 40n, 'integer', 2 ** 40],
    [0.5, 'real', 0.5],
    [true, 'integer', 1],
    [false, 'integer', 0],
    [new Date(1_700_000_000_123), 'integer', 1_700_000_000_123],
    ["it's ? and ?? and \\?", 'text', "it's ? and ?? and \\?"],
    ['before\0after', 'text', 'before\0after'],
    [Buffer.from([0, 255]), 'blob', Buffer.from([0, 255])],
  ]
  for (const [value, type, stored] of cases) {
    const sql = 'select typeof(?) as type, ? as stored'
    t.same(await db.em().execute(sql, [value, value]), [{ type, stored }], `${String(value)} outside a transaction`)
    const inside = await db.transaction((em) => em.execute(sql, [value, value]))
    t.same(inside, [{ type, stored }], `${String(value)} in a transaction`)
  }
  await db.transaction(async (em) => {
    // Their values stay in the text of the statement: lists, identifiers, and fragments of SQL.
    t.same(await em.execute('select 2 in (?) as found', [[1, 2]]), [{ found: 1 }])
    t.same(await em.execute('select ?? from (select 5 as ??)', ['a', 'a']), [{ a: 5 }])
    t.same(await em.execute('select ? as sum', [raw('1 + ?', [2])]), [{ sum: 3 }])
    t.same(await em.execute('select :a as a', { a: 'x' }), [{ a: 'x' }])
    await em.insert(Account, { id: 'a', balance: 5 })
    await em.nativeUpdate(Account, { id: 'a' }, { balance: raw<number>('balance + ?', [2]) })
    t.match(await em.findOne(Account, { id: { $in: ['a', 'b'] } }), { balance: 7 })
    const digests = Array.from({ length: 40_000 }, (_, at) => String(at))
    const many = `select count(*) as count from conformance_accounts where id in (${digests.map(() => '?').join(', ')})`
    t.same(await em.execute(many, digests), [{ count: 0 }], 'more values than SQLite binds')
  })
})
