/**
 * Writes a migration of one plugin: the difference between the existing migrations and the current entities.
 *
 *     npm run migration -- <plugin> <name>
 *
 * creates plugins/<plugin>/migrations/<date>_<name>.ts, for both databases; add it to the plugin's `migrations`. With
 * `--again` it replaces a file of that name that is not released yet. It reads entities from the plugin's files named
 * entities.ts. It leaves tables without an entity unchanged: a migration that drops one is written by hand.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { glob, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { EntitySchema } from '@mikro-orm/core'
import { systemClock } from '../core/clock.ts'
import type { DatabaseDriver, Entity } from '../core/data/database.ts'
import { type Migration, migrate } from '../core/data/migrations.ts'
import type { DriverContext } from '../core/driver.ts'
import { createLog } from '../core/observe/log.ts'
import postgres from '../drivers/database/postgres.ts'
import sqlite from '../drivers/database/sqlite.ts'
import { launchPostgres } from '../test/kit/postgres.ts'

const root = join(import.meta.dirname, '..')
const log = createLog('silent')
const context: DriverContext = {
  dataDir: tmpdir(),
  portalUrl: 'http://localhost:8080',
  clock: systemClock,
  log,
  secret: () => Buffer.alloc(32),
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { again: { type: 'boolean' } } })
const [plugin, words] = positionals
if (!plugin || !words || !/^[a-z0-9_]+$/.test(words)) stop('Usage: npm run migration -- <plugin> <name_in_snake_case>')

const name = `${systemClock.now().toISOString().slice(0, 10).replaceAll('-', '_')}_${words}`
const file = join(root, 'plugins', plugin, 'migrations', `${name}.ts`)
if (existsSync(file) && !values.again) stop(`${relative(root, file)} exists; --again replaces it.`)

const entities = await entitiesOf(plugin)
if (entities.length === 0) stop(`No entities.ts under plugins/${plugin} exports an entity.`)
const earlier = await otherMigrations()
const migration: Migration = { name, sqlite: await missingOnSqlite(), postgres: await missingOnPostgres() }
if (migration.sqlite.length + migration.postgres.length === 0)
  stop('The migrations there are describe these entities already.')

await mkdir(dirname(file), { recursive: true })
await writeFile(file, textOf(migration))
execFileSync(join(root, 'node_modules/.bin/biome'), ['check', '--write', file], { cwd: root, stdio: 'pipe' })
process.stdout.write(`${relative(root, file)}\n`)

async function missingOnSqlite(): Promise<string[]> {
  return missing(await sqlite.create({ file: ':memory:', durability: 'normal', busyTimeout: 1000 }, context))
}

async function missingOnPostgres(): Promise<string[]> {
  const server = await launchPostgres()
  try {
    return await missing(await postgres.create({ url: await server.database(), poolSize: 2, ssl: 'off' }, context))
  } finally {
    await server.remove()
  }
}

/** Returns the statements that lead from the existing migrations to the plugin's entities. */
async function missing(driver: DatabaseDriver): Promise<string[]> {
  const orm = await driver.open(entities)
  try {
    await migrate(driver, earlier, { log, clock: systemClock })
    const sql = await orm.schema.getUpdateSchemaSQL({ wrap: false, dropTables: false })
    return sql.split(/;\s*(?:\n|$)/).filter((statement) => statement.trim() !== '')
  } finally {
    await driver.close()
  }
}

async function entitiesOf(plugin: string): Promise<Entity[]> {
  const exported = await exportsOf(`plugins/${plugin}/**/entities.ts`)
  return exported.filter(
    (value): value is Entity =>
      value instanceof EntitySchema || (typeof value === 'function' && EntitySchema.REGISTRY.has(value)),
  )
}

async function otherMigrations(): Promise<Migration[]> {
  const exported = (await exportsOf('plugins/*/migrations/*.ts')) as Migration[]
  return exported.filter((value) => value.name !== name)
}

async function exportsOf(pattern: string): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const path of glob(pattern, { cwd: root }))
    found.push(...Object.values(await import(pathToFileURL(join(root, path)).href)))
  return found
}

function textOf({ name, sqlite, postgres }: Migration): string {
  const list = (statements: string[]) => `[${statements.map(quoted).join(', ')}]`
  return `import type { Migration } from '../../../core/data/migrations.ts'

export const migration: Migration = {
  name: ${quoted(name)},
  sqlite: ${list(sqlite)},
  postgres: ${list(postgres)},
}
`
}

/** Biome chooses the quotes; a template literal would need other escapes. */
function quoted(text: string): string {
  return JSON.stringify(text)
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
