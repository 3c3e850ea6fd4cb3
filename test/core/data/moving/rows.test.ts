// Rows of every type between the two databases, and back.
import { defineEntity, p } from '@mikro-orm/core'
import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../../../core/data/database.ts'
import { amount } from '../../../kit/extent.ts'
import { needsPostgres } from '../../../kit/postgres.ts'
import { SEED } from '../../../kit/seed.ts'
import { migrationOf, movePlaces, newPlace, openPlace } from './places.ts'

// The child sorts before its parent, so that its rows are copied before those that they refer to.
const Parent = defineEntity({
  name: 'Parent',
  tableName: 'z_parents',
  properties: { id: p.integer().primary().autoincrement(), name: p.string().length(40).unique() },
})
const Child = defineEntity({
  name: 'Child',
  tableName: 'a_children',
  properties: {
    first: p.string().length(20).primary(),
    second: p.bigint('bigint').primary(),
    flag: p.boolean(),
    count: p.integer(),
    big: p.bigint('bigint').nullable(),
    amount: p.decimal().precision(20).scale(4).nullable(),
    ratio: p.double(),
    weight: p.float(),
    at: p.datetime(3).nullable(),
    day: p.date().nullable(),
    time: p.time().nullable(),
    data: p.json<unknown>().nullable(),
    bytes: p.blob().nullable(),
    list: p.array().nullable(),
    uuid: p.uuid().nullable(),
    text: p.text(),
    parent: () => p.manyToOne(Parent).nullable(),
  },
})
const entities = [Parent, Child]

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).map((value) => value.replaceAll('\0', ''))
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '')))
const row = fc.record({
  first: fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'Z', '_', '-', '0', 'é'), minLength: 1, maxLength: 6 }),
  second: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  flag: fc.boolean(),
  count: fc.integer(),
  big: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  amount: fc.option(fc.integer().map((value) => (value / 10_000).toFixed(4))),
  ratio: fc.double({ noNaN: true, noDefaultInfinity: true }),
  weight: fc.float({ noNaN: true, noDefaultInfinity: true }),
  at: fc.option(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })),
  day: fc
    .option(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }))
    .map((day) => day?.toISOString().slice(0, 10) ?? null),
  time: fc.option(fc.constantFrom('00:00:00', '12:34:56', '23:59:59')),
  data: fc.option(json.filter((value) => value !== null)),
  bytes: fc.option(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))),
  list: fc.option(fc.array(fc.constantFrom('one', 'two', 'three'), { minLength: 1, maxLength: 3 })),
  uuid: fc.option(fc.uuid()),
  text,
})

t.comment(`seed ${SEED}`)

t.test('rows of every type are the same after a move there and back', needsPostgres, async (t) => {
  const migrations = [await migrationOf(entities)]
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(row, { selector: (one) => `${one.first} ${one.second}`, minLength: 1, maxLength: 30 }),
      async (rows) => {
        await t.test(`${rows.length} rows`, async (t) => {
          const places = [
            await newPlace(t, 'sqlite'),
            await newPlace(t, 'postgres'),
            await newPlace(t, 'postgres'),
            await newPlace(t, 'sqlite'),
          ]
          const [first] = places
          const source = await openPlace(t, first as never, { entities, migrations })
          await source.transaction(async (em) => {
            em.create(Parent, { name: 'one' })
            const parent = em.create(Parent, { name: 'two' })
            for (const [index, one] of rows.entries())
              em.create(Child, { ...one, parent: index % 2 ? parent : null } as never)
          })
          const before = [await childrenOf(source), await exactOf(source)]
          for (const [index, from] of places.slice(0, -1).entries()) {
            const to = places[index + 1] as never
            const summary = await movePlaces(from, to, { entities, migrations })
            t.match(summary, { tables: 2, rows: rows.length + 2 })
            const target = await openPlace(t, to, { entities, migrations })
            t.same([await childrenOf(target), await exactOf(target)], before)
          }
        })
      },
    ),
    { numRuns: amount(2, 60), seed: SEED },
  )
})

t.test('the target numbers new rows where the source would go on', needsPostgres, async (t) => {
  const migrations = [await migrationOf(entities)]
  const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, 'postgres')]
  const source = await openPlace(t, from, { entities, migrations })
  for (const name of ['one', 'two', 'three']) await source.em().insert(Parent, { name })
  await source.em().nativeDelete(Parent, { name: 'three' })
  await movePlaces(from, to, { entities, migrations })
  const target = await openPlace(t, to, { entities, migrations })
  const next = await target.em().insert(Parent, { name: 'four' })
  t.equal(next, 4)
  await t.rejects(
    target.em().insert(Child, { ...fc.sample(row, { numRuns: 1, seed: SEED })[0], parent: 99 } as never),
    /foreign key/i,
  )
  await target.em().nativeUpdate(Parent, { name: 'four' }, { name: 'five' })
})

/** The rows as JSON. PostgreSQL orders the keys of JSON objects, pads decimals and prints seven digits of a `float`. */
async function childrenOf(db: Database): Promise<string> {
  const keys = await db.query<{ first: string; second: string }>(
    'select first, cast(second as text) as second from a_children order by a_children.second, first',
  )
  const rows = []
  // Each row by itself: MikroORM reads numbers of SQLite as floating-point numbers, and takes rows whose keys become equal
  // by that for one.
  for (const { first, second } of keys)
    rows.push(await db.em().findOneOrFail(Child, { first, second: BigInt(second) }, { populate: ['parent'] }))
  const plain = rows.map((row) => ({
    ...row,
    weight: Math.fround(row.weight),
    amount: row.amount && Number(row.amount),
  }))
  return JSON.stringify(plain, (_name, value) => {
    if (typeof value === 'bigint') return Number(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

/** MikroORM reads numbers of SQLite as floating-point numbers, and this every digit. */
const exactOf = (db: Database) =>
  db.query(
    'select cast(second as text) as second, cast(big as text) as big from a_children order by a_children.second, first',
  )
