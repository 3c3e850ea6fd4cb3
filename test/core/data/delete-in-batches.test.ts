import t from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database, deleteInBatches } from '../../../core/data/database.ts'
import type { Migration } from '../../../core/data/migrations.ts'
import sqlite from '../../../drivers/database/sqlite.ts'
import { driverContext } from '../../kit/driver-context.ts'

const visits: Migration = {
  name: '2026_11_23_visits',
  sqlite: ['create table visits (day integer, who integer, primary key (day, who))'],
  postgres: [],
}
const DELETION = { table: 'visits', key: ['day', 'who'], where: 'day < ?', parameters: [3] }

/** Creates four days of 5,000 visits, and records every write statement. */
async function open() {
  const driver = await sqlite.create({ file: ':memory:', durability: 'full', busyTimeout: 300 }, driverContext())
  const { log } = driverContext()
  const db = await Database.open(driver, { entities: [], migrations: [visits], log, clock: systemClock })
  t.teardown(() => db.close())
  await db.execute(`insert into visits with recursive n(i) as (select 0 union all select i + 1 from n where i < 19999)
    select i % 4 + 1, i from n`)
  const limits: number[] = []
  const execute: Database['execute'] = (sql, parameters = []) => {
    limits.push(Number(parameters.at(-1)))
    return db.execute(sql, parameters)
  }
  const left = () => db.query('select day, count(*) as visits from visits group by day order by day')
  return { db, watched: { execute }, limits, left }
}

t.test('what is meant goes and nothing else, in many statements that grow as long as they are fast', async (t) => {
  const { watched, limits, left } = await open()
  t.equal(await deleteInBatches(watched, DELETION), 10_000)
  t.same(await left(), [
    { day: 3, visits: 5000 },
    { day: 4, visits: 5000 },
  ])
  t.ok(limits.length > 3 && Math.max(...limits) <= 2000, `${limits}`)
  t.equal(await deleteInBatches(watched, DELETION), 0)
})

t.test('a statement that took long is followed by smaller ones', async (t) => {
  const { db, limits } = await open()
  let statements = 0
  const slow: Pick<Database, 'execute'> = {
    execute: (sql, parameters = []) => {
      limits.push(Number(parameters.at(-1)))
      const end = performance.now() + (++statements < 4 ? 12 : 0)
      while (performance.now() < end);
      return db.execute(sql, parameters)
    },
  }
  await deleteInBatches(slow, DELETION)
  t.same(limits.slice(0, 4), [50, 25, 12, 6])
})

t.test('others write between two statements, and a stop leaves the rest for the next time', async (t) => {
  const { db, watched, limits, left } = await open()
  const stop = new AbortController()
  const deleting = deleteInBatches(watched, DELETION, stop.signal)
  await db.execute('insert into visits values (9, 9)')
  stop.abort()
  t.ok((await deleting) < 10_000)
  t.equal(limits.length, 1)
  t.match((await left()).at(-1), { day: 9, visits: 1 })
})
