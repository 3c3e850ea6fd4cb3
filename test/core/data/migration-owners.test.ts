// The tables of plugins that are turned off or removed, and those of newer plugins and programs.
import { defineEntity, p } from '@mikro-orm/core'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database } from '../../../core/data/database.ts'
import { compareMigrations, type OwnedMigration, ownerMigrations } from '../../../core/data/migrations.ts'
import { captureLog } from '../../kit/driver-context.ts'
import { needsPostgres } from '../../kit/postgres.ts'
import { movePlaces, newPlace, type TestPlace } from './moving/places.ts'

/** A step of a plugin, which makes a table of the same name. */
function step(name: string, { plugin = '', added = true, enabled = true } = {}): OwnedMigration {
  const statements = [`create table ${name} (id varchar(20) not null primary key)`]
  const migration = { name: `2026_11_21_${name}`, sqlite: statements, postgres: statements }
  return plugin ? { ...migration, owner: { plugin, added, enabled } } : migration
}

const tableOf = (name: string) => defineEntity({ name, tableName: name, properties: { id: p.string().primary() } })
const ownKernel = step('kernel')
const kernel: OwnedMigration[] = [...ownerMigrations, ownKernel]
const guests = { plugin: 'guests' }
const OFF = { enabled: false }

const kinds = [
  ['sqlite', {}],
  ['postgres', needsPostgres],
] as const

/** Starts on a database and stops again. @returns what it has then applied, and what the log warns of */
async function start(place: TestPlace, migrations: OwnedMigration[]) {
  const { log, lines } = captureLog()
  const driver = await place.database()
  const db = await Database.open(driver, { entities: [tableOf('kernel')], migrations, log, clock: systemClock })
  const rows = await db.query<{ name: string }>('select name from schema_migrations order by name')
  await db.close()
  return {
    applied: rows.map(({ name }) => name.slice(11)).filter((name) => name !== 'migration_owners'),
    warnings: lines().flatMap(({ level, msg }) => (level === 'warn' ? [String(msg)] : [])),
  }
}

/** Compares a database with the migrations of a program, as the doctor does. */
async function compare(place: TestPlace, migrations: OwnedMigration[]) {
  const driver = await place.database()
  await driver.open([])
  const found = await compareMigrations(driver, migrations)
  await driver.close()
  return found
}

async function execute(place: TestPlace, sql: string) {
  const driver = await place.database()
  await driver.open([])
  await driver.execute(sql, [])
  await driver.close()
}

for (const [kind, options] of kinds) {
  const test = (name: string, work: (t: Test, place: TestPlace) => Promise<void>) =>
    t.test(`${kind}: ${name}`, options, async (t) => work(t, await newPlace(t, kind)))

  for (const added of [false, true])
    test(`the tables of ${added ? 'an added' : 'a built-in'} plugin that is turned off stay`, async (t, place) => {
      const jam = { plugin: 'jam', added }
      const never = step('never', { plugin: 'never', added, ...OFF })
      t.same((await start(place, [...kernel, step('jam', jam), never])).applied, ['jam', 'kernel'])
      const off = [...kernel, step('jam', { ...jam, ...OFF }), never]
      t.same(await start(place, off), { applied: ['jam', 'kernel'], warnings: [] })
      t.same(await compare(place, off), { lacking: [], unknown: [], removed: [] })

      const updated = [...off, step('jam_votes', { ...jam, ...OFF })]
      t.same((await compare(place, updated)).lacking, ['2026_11_21_jam_votes'])
      t.same((await start(place, updated)).applied, ['jam', 'jam_votes', 'kernel'], 'its tables follow an update')
      const on = [...kernel, step('jam', jam), step('jam_votes', jam), step('never', { plugin: 'never', added })]
      t.same((await start(place, on)).applied, ['jam', 'jam_votes', 'kernel', 'never'], 'and it can be turned on again')
    })

  test('the tables of an added plugin that the configuration no longer names stay, with a warning', async (t, place) => {
    await start(place, [...kernel, step('guests', guests)])
    const { applied, warnings } = await start(place, kernel)
    t.same(applied, ['guests', 'kernel'])
    t.match(warnings, [/tables of the plugin guests, which the configuration does not add any more; they stay/])
    t.same(await compare(place, kernel), { lacking: [], unknown: [], removed: ['guests'] })
    t.same(await start(place, [...kernel, step('guests', guests)]), { applied: ['guests', 'kernel'], warnings: [] })
  })

  test('a removed plugin is known from before its name was recorded, once it was there since', async (t, place) => {
    await start(place, [ownKernel, step('guests')])
    await t.rejects(start(place, kernel), { message: /newer Gameyard, or by one with more plugins.*_guests/ })
    await start(place, [...kernel, step('guests', guests)])
    t.match((await start(place, kernel)).warnings, [/the plugin guests/])
  })

  test('a newer version of the program, or of an added plugin, is still refused', async (t, place) => {
    const newer = [...kernel, step('guests', guests), step('guests_more', guests)]
    await start(place, newer)
    const older = [...kernel, step('guests', guests)]
    await t.rejects(start(place, older), { message: /newer version of the plugin guests: it holds .*_guests_more/ })
    t.match((await compare(place, older)).unknown, [{ name: /_guests_more$/, addedPlugin: 'guests' }])
    await execute(place, "insert into schema_migrations (name, applied_at) values ('2999_01_01_orbit', 0)")
    await t.rejects(start(place, newer), { message: /written by a newer Gameyard.*2999_01_01_orbit/ })
    await t.rejects(start(place, kernel), { message: /2999_01_01_orbit/ }, 'also where an added plugin is removed')
  })

  test('a move takes the tables of a plugin that is turned off along, and refuses those of no plugin', async (t, place) => {
    await start(place, [...kernel, step('guests', guests), step('jam', { plugin: 'jam', added: false })])
    await execute(place, "insert into guests (id) values ('ada')")
    const off = [
      ...kernel,
      step('guests', { ...guests, ...OFF }),
      step('jam', { plugin: 'jam', added: false, ...OFF }),
      step('never', { plugin: 'never', ...OFF }),
    ]
    const entities = ['kernel', 'guests', 'jam', 'never'].map(tableOf)
    const target = await newPlace(t, 'sqlite')
    t.equal((await movePlaces(place, target, { entities, migrations: off })).rows, 1)
    t.same(await start(target, off), { applied: ['guests', 'jam', 'kernel'], warnings: [] })

    const removed = off.filter(({ owner }) => owner?.plugin !== 'guests')
    const without = ['kernel', 'jam', 'never'].map(tableOf)
    await t.rejects(movePlaces(place, await newPlace(t, 'sqlite'), { entities: without, migrations: removed }), {
      message: /The source has the table guests, which belongs to no plugin/,
    })
  })
}
