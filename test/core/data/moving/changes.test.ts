// What changes while it is copied, what is interrupted, and what can't be moved.

import { join } from 'node:path'
import { defineEntity, p } from '@mikro-orm/core'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Database } from '../../../../core/data/database.ts'
import type { Storage } from '../../../../drivers/storage/interface.ts'
import { needsPostgres } from '../../../kit/postgres.ts'
import { migrationOf, movePlaces, newPlace, openPlace, type TestPlace } from './places.ts'

const Thing = defineEntity({
  name: 'Thing',
  tableName: 'things',
  properties: {
    id: p.string().length(20).primary(),
    slug: p.string().length(20).unique(),
    note: p.text().nullable(),
  },
})
const entities = [Thing]
const migrations = [await migrationOf(entities)]
const schema = { entities, migrations }

const ROWS = 700
const idOf = (number: number) => `T-${String(number).padStart(5, '0')}`

async function fill(t: Test, place: TestPlace): Promise<Database> {
  const db = await openPlace(t, place, schema)
  await db.transaction((em) =>
    em.insertMany(
      Thing,
      Array.from({ length: ROWS }, (_, number) => ({ id: idOf(number), slug: `slug-${number}`, note: null })),
    ),
  )
  return db
}

const rowsOf = (db: Database) => db.query('select * from things order by slug')

/** Changes rows at both ends, in the middle and outside of every page, and lets unique values wander between pages. */
async function change(db: Database): Promise<void> {
  await db.transaction(async (em) => {
    await em.nativeDelete(Thing, idOf(0))
    await em.nativeDelete(Thing, idOf(ROWS - 1))
    await em.nativeDelete(Thing, idOf(300))
    await em.nativeUpdate(Thing, idOf(650), { slug: 'free' })
    await em.nativeUpdate(Thing, idOf(10), { slug: 'slug-650' })
    await em.nativeUpdate(Thing, idOf(650), { slug: 'slug-10' })
    await em.insertMany(
      Thing,
      Array.from({ length: 400 }, (_, number) => ({
        id: `${idOf(300)}.${number}`,
        // The first takes the unique value of a deleted row.
        slug: number === 0 ? 'slug-300' : `new-${number}`,
        note: 'x'.repeat(5000),
      })),
    )
    await em.insert(Thing, { id: 'A-first', slug: 'first', note: null })
    await em.insert(Thing, { id: 'Z-last', slug: 'last', note: 'é' })
  })
}

for (const [one, other] of [
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const)
  t.test(`what changes from ${one} to ${other} while it is copied arrives`, needsPostgres, async (t) => {
    const [from, to] = [await newPlace(t, one), await newPlace(t, other)]
    const source = await fill(t, from)
    let changed = false
    const { rows } = await movePlaces(from, to, {
      ...schema,
      writeStop: {
        async begin() {
          await change(source)
          changed = true
        },
        async cancel() {},
        async complete() {},
      },
    })
    t.ok(changed)
    t.equal(rows, ROWS - 3 + 402)
    t.same(await rowsOf(await openPlace(t, to, schema)), await rowsOf(source))
  })

t.test('an interrupted move goes on, whatever has changed since', needsPostgres, async (t) => {
  for (const kind of ['postgres', 'sqlite'] as const) {
    const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, kind)]
    const source = await fill(t, from)
    const events: string[] = []
    const writeStop = {
      async begin() {
        throw new Error('interrupted')
      },
      async cancel() {
        events.push('cancel')
      },
      async complete() {
        events.push('complete')
      },
    }
    await t.rejects(movePlaces(from, to, { ...schema, writeStop }), { message: 'interrupted' })
    await t.rejects(openPlace(t, to, schema), { name: 'StartupError', message: /not complete: run the same command/ })
    await change(source)
    await movePlaces(from, to, { ...schema, writeStop: { ...writeStop, async begin() {} } })
    t.same(events, ['complete'])
    t.same(await rowsOf(await openPlace(t, to, schema)), await rowsOf(source))
  }
})

t.test('a failure in the last step lets the source be written to again', async (t) => {
  const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, 'sqlite')]
  await fill(t, from)
  const events: string[] = []
  const writeStop = {
    async begin() {
      // Somebody else writes to the target: a row that contradicts a new one of the source.
      const target = new Sqlite(join(to.dataDir, 'gameyard.db'))
      target.exec("insert into things (id, slug) values ('foreign', 'taken')")
      target.close()
      const writer = new Sqlite(join(from.dataDir, 'gameyard.db'))
      writer.exec("insert into things (id, slug) values ('Z', 'taken')")
      writer.close()
    },
    async cancel() {
      events.push('cancel')
    },
    async complete() {
      events.push('complete')
    },
  }
  await t.rejects(movePlaces(from, to, { ...schema, writeStop }), { code: 'SQLITE_CONSTRAINT_UNIQUE' })
  t.same(events, ['cancel'])
})

t.test('the last step reads rows again only if somebody has written to the source', needsPostgres, async (t) => {
  for (const kind of ['sqlite', 'postgres'] as const)
    for (const written of [false, true]) {
      const [from, to] = [await newPlace(t, kind), await newPlace(t, 'sqlite')]
      const source = await fill(t, from)
      let last = false
      let fingerprints = 0
      const database = async () => {
        const driver = await from.database()
        const query = driver.query.bind(driver)
        driver.query = (sql, parameters) => {
          if (last && /group_concat|string_agg/.test(sql)) fingerprints++
          return query(sql, parameters)
        }
        return driver
      }
      await movePlaces({ ...from, database }, to, {
        ...schema,
        writeStop: {
          async begin() {
            if (written) await source.em().nativeUpdate(Thing, idOf(5), { note: 'late' })
            last = true
          },
          async cancel() {},
          async complete() {},
        },
      })
      t.equal(fingerprints > 0, written, `${kind}, ${written ? 'written to' : 'not written to'}`)
      t.same(await rowsOf(await openPlace(t, to, schema)), await rowsOf(source))
    }
})

t.test('the source is not written to', async (t) => {
  const [from, to] = [await newPlace(t, 'sqlite'), await newPlace(t, 'sqlite')]
  await fill(t, from)
  const watcher = new Sqlite(join(from.dataDir, 'gameyard.db'), { readonly: true })
  t.teardown(() => watcher.close())
  const before = watcher.pragma('data_version', { simple: true })
  await movePlaces(from, to, schema)
  t.equal(watcher.pragma('data_version', { simple: true }), before)
})

t.test('what cannot be moved is said in one sentence', needsPostgres, async (t) => {
  const refused = async (from: TestPlace, to: TestPlace, message: RegExp, options = schema) =>
    t.rejects(movePlaces(from, to, options), { name: 'MoveError', message })
  const from = await newPlace(t, 'sqlite')
  const source = await fill(t, from)
  const before = await rowsOf(source)

  await refused(await newPlace(t, 'sqlite'), await newPlace(t, 'sqlite'), /its database is empty/)
  const used = await newPlace(t, 'postgres')
  await openPlace(t, used, schema)
  await refused(from, used, /not empty: it has the tables of a platform/)

  const [newer, older] = [
    { entities, migrations: [] },
    { entities, migrations: [...migrations, { name: '2026_12_01_later', sqlite: [], postgres: [] }] },
  ]
  await refused(from, await newPlace(t, 'sqlite'), /newer Gameyard.*2026_11_23_moved/, newer)
  await refused(from, await newPlace(t, 'sqlite'), /older Gameyard.*2026_12_01_later/, older)
  await refused(
    from,
    { ...(await newPlace(t, 'sqlite')), secret: 'another secret of the tests, also long' },
    /`secret`/,
  )

  const target = await newPlace(t, 'postgres')
  await source.em().insert(Thing, { id: 'long', slug: 'a-slug-that-is-longer-than-twenty', note: null })
  await refused(from, target, /row long of the table things can't be stored.*too long/)
  await source.execute("update things set slug = 'short', note = ? where id = 'long'", ['nul \0 character'])
  await refused(from, target, /row long of the table things can't be stored/)
  await source.em().nativeDelete(Thing, 'long')
  await movePlaces(from, target, schema)
  t.same(await rowsOf(await openPlace(t, target, schema)), before)

  const half = await newPlace(t, 'sqlite')
  const stop = {
    async begin() {
      throw new Error('interrupted')
    },
    async cancel() {},
    async complete() {},
  }
  await t.rejects(movePlaces(from, half, { ...schema, writeStop: stop }), { message: 'interrupted' })
  const another = await newPlace(t, 'sqlite')
  await new Promise((resolve) => setTimeout(resolve, 2)) // migrated at another millisecond
  await fill(t, another)
  await refused(another, half, /part of another platform/)

  const writer = new Sqlite(join(from.dataDir, 'gameyard.db'))
  writer.exec('create table strange (id text primary key)')
  writer.close()
  await refused(from, await newPlace(t, 'sqlite'), /the table strange, which belongs to no plugin/)
})

t.test('a process that still writes during the last step is noticed', needsPostgres, async (t) => {
  for (const kind of ['sqlite', 'postgres'] as const) {
    const [from, to] = [await newPlace(t, kind), await newPlace(t, 'sqlite')]
    const source = await fill(t, from)
    const events: string[] = []
    let last = false
    // The blobs follow the rows, so this write comes after the rows of the last step were copied.
    const storage = async (): Promise<Storage> => {
      const opened = await from.storage()
      const list = opened.list.bind(opened)
      opened.list = async function* (prefix) {
        if (last) await source.execute("update things set note = 'late' where id = ?", [idOf(5)])
        yield* list(prefix)
      }
      return opened
    }
    const moved = movePlaces({ ...from, storage }, to, {
      ...schema,
      writeStop: {
        async begin() {
          last = true
        },
        async cancel() {
          events.push('cancel')
        },
        async complete() {
          events.push('complete')
        },
      },
    })
    await t.rejects(moved, { name: 'MoveError', message: /still writes to the source/ })
    t.same(events, ['cancel'])
    await movePlaces(from, to, schema)
    t.same(await rowsOf(await openPlace(t, to, schema)), await rowsOf(source))
  }
})
