/**
 * `npm run upgrade-fixture -- <version>`: stores a platform's data as this version writes it, in
 * `test/fixtures/upgrades/<version>/`, so that later versions can be tested with it
 * (test/system/upgrade-fixtures.test.ts). Run it for each release. The database is stored as SQL, with its blobs beside
 * it. Keys, and data that depends on them, are not stored.
 *
 *     npm run upgrade-fixture -- <name> --until <migration>
 *
 * stores the data of an unreleased earlier state: it applies the migrations up to that name, and keeps the rows and
 * columns that those tables have.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { migrationsOf } from '../core/boot/database.ts'
import { MIGRATIONS_TABLE } from '../core/data/migrations.ts'
import { plugins } from '../plugins/index.ts'
import { publishAt } from '../test/kit/remote-game.ts'

const root = resolve(import.meta.dirname, '..')
/** Tables with values sealed or started by the ended process, or created again at each start. */
const NOT_KEPT = new Set(['oauth_signing_keys', 'idempotent_answers', 'background_jobs', 'setup_links'])
/** Since this migration a hosted game has no stored address; before, it stored the address of its creation. */
const ADDRESSES = '2026_11_23_addresses'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { until: { type: 'string' } } })
const [name] = positionals
if (!name || !/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
  process.stderr.write('Usage: npm run upgrade-fixture -- <version> [--until <migration>]\n')
  process.exit(1)
}
const scratch = mkdtempSync(join(tmpdir(), 'gameyard-yard-'))
try {
  await live(scratch)
  const target = join(root, 'test/fixtures/upgrades', name)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  cpSync(join(scratch, 'data/blobs'), join(target, 'blobs'), { recursive: true })
  const source = new DatabaseSync(join(scratch, 'data/gameyard.db'), { readOnly: true })
  const database = values.until === undefined ? source : asOf(values.until, source)
  writeFileSync(join(target, 'yard.sql'), dump(database))
  process.stdout.write(`${target}\n`)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** Runs a platform in which a player signs up and publishes a game. */
async function live(folder: string): Promise<void> {
  const port = await freePort()
  const config = { listen: { port }, blender: { driver: 'none' } }
  writeFileSync(join(folder, 'gameyard.yaml'), stringify(config))
  const child = spawn(process.execPath, [join(root, 'bin/gameyard.js'), 'serve'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    let output = ''
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      output += chunk
      if (output.includes('"ready"')) break
    }
    child.stdout.resume()
    await publishAt(`http://localhost:${port}`, { 'index.html': '<!doctype html><title>Pong</title>' })
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** Copies the rows into the tables of the migrations up to the given one. */
function asOf(until: string, source: DatabaseSync): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  database.exec(
    `pragma foreign_keys = off; create table ${MIGRATIONS_TABLE} (name varchar(255) primary key, applied_at bigint not null)`,
  )
  const applied = migrationsOf(plugins)
    .filter((migration) => migration.name <= until)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const { name, sqlite } of applied) {
    for (const statement of sqlite) database.exec(statement)
    database
      .prepare(`insert into ${MIGRATIONS_TABLE} values (?, ?)`)
      .run(name, Date.parse(name.slice(0, 10).replaceAll('_', '-')))
  }
  for (const table of tablesOf(database)) {
    if (table === MIGRATIONS_TABLE) continue
    const columns = columnsOf(database, table).filter((column) => columnsOf(source, table).includes(column))
    const list = columns.map((column) => `"${column}"`).join(', ')
    const insert = database.prepare(
      `insert or replace into "${table}" (${list}) values (${columns.map(() => '?').join(', ')})`,
    )
    for (const row of source.prepare(`select ${list} from "${table}"`).all())
      insert.run(...columns.map((column) => row[column] ?? null))
  }
  if (until < ADDRESSES)
    database.exec(
      `update oauth_apps set redirect_uris = json_array('http://' || (select slug from games where client_id = oauth_apps.client_id) || '.localhost:8080/auth/service/callback')
       where client_id in (select client_id from games)`,
    )
  return database
}

function dump(database: DatabaseSync): string {
  const made = database
    .prepare("select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid")
    .all() as { sql: string }[]
  const rows = tablesOf(database)
    .filter((table) => !NOT_KEPT.has(table))
    .flatMap((table) => {
      const columns = columnsOf(database, table)
      const quoted = columns.map((column) => `quote("${column}")`).join(` || ', ' || `)
      const found = database.prepare(`select ${quoted} as row from "${table}"`).all() as { row: string }[]
      return found.map(
        ({ row }) => `insert into "${table}" (${columns.map((one) => `"${one}"`).join(', ')}) values (${row});`,
      )
    })
  return `${[...made.map(({ sql }) => `${sql};`), ...rows].join('\n')}\n`
}

function tablesOf(database: DatabaseSync): string[] {
  const rows = database
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid")
    .all()
  return rows.map(({ name }) => String(name))
}

function columnsOf(database: DatabaseSync, table: string): string[] {
  return database
    .prepare('select name from pragma_table_info(?)')
    .all(table)
    .map(({ name }) => String(name))
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
