import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../core/clock.ts'
import { Database } from '../../../core/data/database.ts'
import { createLog } from '../../../core/observe/log.ts'
import { entities, migrations } from '../../../drivers/database/conformance-entities.ts'
import postgres from '../../../drivers/database/postgres.ts'
import { run, temporaryFolder } from '../../bin/program.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'

const log = createLog('silent')

async function openDatabase(url: string): Promise<Database> {
  const driver = await postgres.create({ url, poolSize: 2, ssl: 'off' }, driverContext())
  try {
    return await Database.open(driver, { entities, migrations, log, clock: systemClock })
  } catch (error) {
    await driver.close()
    throw error
  }
}

/** Runs statements as the owner of the server. */
async function asOwner(url: string, ...statements: string[]): Promise<object[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    let rows: object[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

const nameOf = (url: string) => new URL(url).pathname.slice(1)

/** Opens a database, follows the sentence that refuses it, and opens it again. */
async function follow(t: Test, url: string, says: RegExp, owner = url): Promise<void> {
  const error: Error = await openDatabase(url).then(
    () => t.fail('it was not refused'),
    (error) => error,
  )
  t.equal(error.name, 'StartupError')
  t.match(error.message, says)
  t.notMatch(error.message, /only-on-loopback/)
  const tables = await asOwner(
    owner,
    "select * from pg_tables where schemaname <> all ('{pg_catalog,information_schema}')",
  )
  t.ok(tables.length <= 1, 'nothing was written')
  await asOwner(owner, error.message.replace(/^.* run: /, '').replace(/\.$/, ''))
  await (await openDatabase(url)).close()
}

t.test(
  'what keeps PostgreSQL from being used is one sentence, with the command that helps',
  needsPostgres,
  async (t) => {
    const server = await startPostgres()
    const fresh = async (...statements: string[]) => {
      const url = await server.database()
      await asOwner(url, ...statements.map((statement) => statement.replaceAll('DATABASE', nameOf(url))))
      return url
    }
    const dates = await fresh(`alter database DATABASE set datestyle to 'German, DMY'`)
    await follow(t, dates, /writes dates as German, DMY: run: alter role gameyard in database test_\w+ set datestyle/)
    const nowhere = await fresh('alter database DATABASE set search_path to nowhere')
    await follow(t, nowhere, /has no schema of those in search_path \(nowhere\): run: alter role gameyard/)
    const readOnly = await fresh('alter database DATABASE set default_transaction_read_only to on')
    await follow(t, readOnly, /takes no writes from gameyard: run: begin read write; alter role/)

    const elsewhere = await fresh('create schema "Yard"', 'create table "Yard".program_versions (version text)')
    await t.rejects(openDatabase(elsewhere), {
      name: 'StartupError',
      message: /has the tables of the platform in the schema Yard, and search_path .* set search_path to "Yard"\.$/,
    })

    const latin = `${nameOf(dates)}_latin`
    await asOwner(dates, `create database ${latin} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`)
    await t.rejects(openDatabase(dates.replace(nameOf(dates), latin)), {
      name: 'StartupError',
      message: /is in LATIN1, .*createdb --encoding=UTF8 --template=template0 test_\w+_latin_utf8\.$/,
    })
  },
)

t.test('a role without rights on the schema public is refused, by doctor too', needsPostgres, async (t) => {
  const owner = await (await startPostgres()).database()
  const role = `role-${nameOf(owner)}`
  await asOwner(owner, `create role "${role}" login password 'secret-of-role'`)
  t.teardown(() => asOwner(owner, `drop owned by "${role}"`, `drop role "${role}"`))
  const url = Object.assign(new URL(owner), { username: role, password: 'secret-of-role' }).href
  const cwd = temporaryFolder(t)
  const config = { secret: 'x'.repeat(40), database: { driver: 'postgres', url }, blender: { driver: 'none' } }
  writeFileSync(join(cwd, 'gameyard.yaml'), JSON.stringify(config))
  const [serve, doctor] = await Promise.all([run(t, ['serve'], { cwd }), run(t, ['doctor', '--json'], { cwd })])
  const sentence =
    /does not let role-test_\w+ create tables in the schema public: .* run: grant usage, create on schema/
  t.match(serve, { code: 1, stderr: sentence })
  t.match(serve.stderr.trim().split('\n').length, 1, 'one line')
  t.match(
    JSON.parse(doctor.stdout).checks.find(({ name }: { name: string }) => name === 'Database'),
    { status: 'failed', message: sentence },
  )
  await follow(t, url, sentence, owner)

  await t.test('a right that a later migration lacks is said too', async (t) => {
    await asOwner(owner, `revoke create on schema public from "${role}"`)
    const driver = await postgres.create({ url, poolSize: 2, ssl: 'off' }, driverContext())
    await driver.open([])
    t.teardown(() => driver.close())
    await t.rejects(
      driver.migrate(async (em) => void (await em.execute('create table later (id int)'))),
      { name: 'StartupError', message: /create tables in the schema public.*Nothing was changed\.$/ },
    )
  })
})
