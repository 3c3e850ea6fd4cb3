import t, { type Test } from 'tap'
import { Database, type DatabaseDriver, type Parameter } from '../../../core/data/database.ts'
import { KeyRings, keyRingMigrations } from '../../../core/data/key-rings.ts'
import { Keys } from '../../../core/data/keys.ts'
import { Events } from '../../../core/events.ts'
import local from '../../../drivers/bus/local.ts'
import postgres from '../../../drivers/database/postgres.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { driverContext, manualClock } from '../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const HOUR_MS = 3_600_000

/** Starts two nodes on one database that do not receive each other's events. */
async function twoNodes(t: Test, driver: DatabaseDriver) {
  const { log } = driverContext()
  const clock = manualClock()
  const db = await Database.open(driver, { entities: [], migrations: keyRingMigrations, log, clock })
  t.teardown(() => db.close())
  const queries = { count: 0 }
  const counting: Database = Object.create(db, {
    query: {
      value: (sql: string, parameters?: readonly Parameter[]) => {
        queries.count++
        return db.query(sql, parameters)
      },
    },
    execute: { value: db.execute.bind(db) },
  })
  const keys = await Keys.open({ dataDir: t.testdirName, secret: 'a secret that is long enough for it' })
  const node = async (name: string) => {
    const bus = await local.create({}, driverContext())
    t.teardown(() => bus.close())
    return new KeyRings({ db: counting, clock, keys, events: new Events(bus, log, name) })
  }
  return {
    queries,
    clock,
    keys,
    one: await node('one'),
    other: await node('other'),
  }
}

async function turnOver(t: Test, driver: DatabaseDriver): Promise<void> {
  const { clock, keys, one, other } = await twoNodes(t, driver)
  const [ring, elsewhere] = [one.ring('sessions', 'test', HOUR_MS), other.ring('sessions', 'test', HOUR_MS)]
  const first = await ring.current()
  t.same(first, { id: '', key: keys.derive('test') }, 'before the first rotation they are what they always were')
  t.same(await elsewhere.current(), first)

  await one.rotate('sessions', { immediate: false })
  const second = await ring.current()
  t.notSame(second.key, first.key)
  t.notSame(second.key, keys.derive('test'), 'the secret alone does not tell the new one')
  t.same(await elsewhere.find(second.id), second.key, 'a node that was not told of it yet finds it at once')
  t.same(await elsewhere.current(), second)
  t.same(await ring.find(''), first.key, 'what the key before has sealed stays good')
  t.same((await one.ring('signing', 'test', HOUR_MS).current()).id, '', 'other groups keep theirs')
  t.equal(await ring.find('rot_00000000000000000000000000'), null)
  clock.advance(HOUR_MS + 1)
  t.equal(await ring.find(''), null, 'for as long as it lives')

  await one.rotate('sessions', { immediate: true })
  const third = await ring.current()
  t.equal(await ring.find(second.id), null, 'and what a stolen one has sealed does not')
  clock.advance(1001)
  t.equal(await elsewhere.find(second.id), null, 'on any node, a second later')
  t.same(await elsewhere.current(), third)

  await one.rotate('sessions', { immediate: false })
  t.same(await ring.find(third.id), third.key)
  t.equal(await ring.find(second.id), null, 'nor does it come back')
  t.equal(new Set([first, second, third, await ring.current()].map(({ key }) => key.toString('hex'))).size, 4)
}

t.test('keys turn over, on SQLite', async (t) => {
  await turnOver(t, await sqlite.create({ file: ':memory:', durability: 'full', busyTimeout: 300 }, driverContext()))
})

t.test('invented ids of keys cost one query a second, and hide no rotation', async (t) => {
  const driver = await sqlite.create({ file: ':memory:', durability: 'full', busyTimeout: 300 }, driverContext())
  const { clock, queries, one, other } = await twoNodes(t, driver)
  const [ring, elsewhere] = [one.ring('sessions', 'test', HOUR_MS), other.ring('sessions', 'test', HOUR_MS)]
  await one.rotate('sessions', { immediate: false })
  await elsewhere.current()
  const before = queries.count
  const invented = (n: number) => elsewhere.find(`rot_${String(n).padStart(26, '0')}`)
  t.same(new Set(await Promise.all(Array.from({ length: 200 }, (_, n) => invented(n)))), new Set([null]))
  for (let n = 0; n < 200; n++) await invented(1000 + n)
  t.equal(queries.count - before, 1)
  await one.rotate('sessions', { immediate: false })
  const { id, key } = await ring.current()
  clock.advance(1001)
  t.same(await elsewhere.find(id), key, 'a second later the node finds a key that nobody told it of')
})

t.test('keys turn over, on PostgreSQL', needsPostgres, async (t) => {
  const server = await startPostgres()
  const url = await server.database()
  await turnOver(t, await postgres.create({ url, poolSize: 2, ssl: 'off' }, driverContext()))
})
