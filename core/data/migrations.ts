import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import { StartupError } from '../errors.ts'

/**
 * One forward step of the database, in both dialects. A released migration never changes: a later change is a new
 * migration. Names sort by date and are unique in the whole program: `2026_11_21_deploys`. Migrations run in the order
 * of their names, so one that refers to another plugin's table must have a later name.
 */
export interface Migration {
  name: string
  sqlite: string[]
  postgres: string[]
}

/** A migration with the plugin that it belongs to. The kernel's own have none. */
export interface OwnedMigration extends Migration {
  owner?: MigrationOwner
}

export interface MigrationOwner {
  plugin: string
  /** Whether the configuration adds the plugin. The others are the program's own. */
  added: boolean
  /**
   * Whether the plugin is turned on. Of one that is turned off, nothing is applied to a database that has none of its
   * migrations. Where it has some, the others follow, so that its tables are always those of this program.
   */
  enabled: boolean
}

/** A migration that a database has and this program lacks. */
export interface UnknownMigration {
  name: string
  /** The plugin that some configuration added; null for one of the program, and where it was not recorded. */
  addedPlugin: string | null
}

/** The part of a database that migrations need. */
export interface MigratableDatabase {
  /** Selects which of a migration's two statement lists this database runs. */
  dialect: 'sqlite' | 'postgres'

  /**
   * Runs `work` in one transaction, after any migration in another process has ended. Foreign keys are checked at the
   * end of the transaction, not in between.
   */
  migrate(work: (em: SqlEntityManager) => Promise<void>): Promise<void>
}

/** The table of applied migrations, the only table that belongs to no plugin. */
export const MIGRATIONS_TABLE = 'schema_migrations'

const OWNERS = '2026_11_28_migration_owners'

/** Records which migrations belong to plugins that the configuration adds, since these may be removed again. */
export const ownerMigrations: Migration[] = [
  {
    name: OWNERS,
    sqlite: [`alter table \`${MIGRATIONS_TABLE}\` add column \`added_plugin\` text`],
    postgres: [`alter table "${MIGRATIONS_TABLE}" add column "added_plugin" varchar(255)`],
  },
]

/**
 * The beginning of a name in the table of migrations that marks the target of a move which is not complete. The rest of
 * the name identifies the source. A program does not start on such a database.
 */
export const MOVE_MARK = '~move '

/**
 * Applies the missing migrations in one transaction. When the process dies midway, none of them is applied. Tables of a
 * plugin that the configuration no longer adds stay as they are, with a warning.
 *
 * @param moving whether the caller is the move whose target this is
 * @throws StartupError when the database contains migrations that this program does not know, or a move into it is not
 *   complete
 */
export async function migrate(
  driver: MigratableDatabase,
  migrations: OwnedMigration[],
  { log, clock, moving = false }: { log: Pick<FastifyBaseLogger, 'info' | 'warn'>; clock: Clock; moving?: boolean },
): Promise<void> {
  const ordered = inOrder(migrations)
  let isNew = false
  let missing: OwnedMigration[] = []
  let removed: string[] = []
  await driver.migrate(async (em) => {
    const run = (sql: string, parameters: unknown[] = []) => em.execute(sql, parameters, 'run')
    await run(
      `create table if not exists ${MIGRATIONS_TABLE} (name varchar(255) primary key, applied_at bigint not null)`,
    )
    const applied = await appliedMigrations((sql) => em.execute(sql))
    if (!moving) refuseIncomplete(applied)
    const foreign = foreignMigrations(applied, ordered)
    refuseUnknown(foreign.unknown)
    removed = foreign.removed
    isNew = applied.size === 0
    const due = migrationsInUse(applied, ordered)
    missing = due.filter(({ name }) => !applied.has(name))
    for (const migration of missing) {
      for (const statement of migration[driver.dialect]) await run(statement)
      await run(`insert into ${MIGRATIONS_TABLE} (name, applied_at) values (?, ?)`, [
        migration.name,
        clock.now().getTime(),
      ])
    }
    for (const { name, owner } of due.filter(({ name, owner }) => owner?.added && !applied.get(name)))
      await run(`update ${MIGRATIONS_TABLE} set added_plugin = ? where name = ?`, [owner?.plugin, name])
  })
  // A first start has one line for all of them, so that its set-up link stays in sight.
  if (isNew) log.info({ migrations: missing.length }, 'database created')
  else if (missing.length > 0) log.info({ migrations: missing.map(({ name }) => name) }, 'database migrated')
  for (const plugin of removed) log.warn(`${tablesOfRemoved(plugin)}; they stay as they are`)
}

/** Says that a database has tables of a plugin that the configuration no longer adds. */
export const tablesOfRemoved = (plugin: string): string =>
  `the database has tables of the plugin ${plugin}, which the configuration does not add any more`

/**
 * Compares a database with the migrations of this program.
 *
 * @returns `lacking`: the names of missing migrations, none for an empty database; `unknown`: those that this program
 *   lacks; `removed`: the plugins that the configuration no longer adds, and whose tables the database has
 */
export async function compareMigrations(
  driver: QueriedDatabase,
  migrations: OwnedMigration[],
): Promise<{ lacking: string[]; unknown: UnknownMigration[]; removed: string[] }> {
  const applied = await appliedIn(driver)
  if (applied.size === 0) return { lacking: [], unknown: [], removed: [] }
  const lacking = migrationsInUse(applied, migrations).filter(({ name }) => !applied.has(name))
  return { lacking: lacking.map(({ name }) => name).sort(), ...foreignMigrations(applied, migrations) }
}

/** Returns the migrations whose tables a complete database has, or another one gets that is to have the same tables. */
export const migrationsOfTablesIn = async (
  driver: QueriedDatabase,
  migrations: OwnedMigration[],
): Promise<OwnedMigration[]> =>
  migrationsInUse(await appliedIn(driver), migrations).map(({ owner, ...migration }) => ({
    ...migration,
    ...(owner ? { owner: { ...owner, enabled: true } } : {}),
  }))

/** Describes who wrote a database with a migration that this program lacks. */
export const writerOf = ({ addedPlugin }: UnknownMigration): string =>
  addedPlugin === null
    ? 'a newer Gameyard, or by one with more plugins'
    : `a newer version of the plugin ${addedPlugin}`

interface QueriedDatabase {
  query(sql: string, parameters: readonly []): Promise<object[]>
}

/** The applied migrations, each with the plugin that a configuration added it by, or null. */
type Applied = ReadonlyMap<string, string | null>

const appliedIn = (driver: QueriedDatabase): Promise<Applied> =>
  appliedMigrations((sql) => driver.query(sql, []) as Promise<AppliedRow[]>).catch(() => new Map())

interface AppliedRow {
  name: string
  plugin?: string | null
}

async function appliedMigrations(select: (sql: string) => Promise<AppliedRow[]>): Promise<Applied> {
  const rows = await select(`select name from ${MIGRATIONS_TABLE}`)
  const isRecorded = rows.some(({ name }) => name === OWNERS)
  const owned = isRecorded ? await select(`select name, added_plugin as plugin from ${MIGRATIONS_TABLE}`) : rows
  return new Map(owned.map(({ name, plugin }) => [name, plugin ?? null]))
}

/** Leaves out the migrations of plugins that are turned off and never had a table in this database. */
function migrationsInUse(applied: Applied, migrations: OwnedMigration[]): OwnedMigration[] {
  const present = new Set(migrations.filter(({ name }) => applied.has(name)).map(({ owner }) => owner?.plugin))
  return migrations.filter(({ owner }) => !owner || owner.enabled || present.has(owner.plugin))
}

/** Finds the applied migrations that this program lacks. A plugin that the configuration adds must know its own. */
function foreignMigrations(applied: Applied, migrations: OwnedMigration[]) {
  const known = new Set(migrations.map(({ name }) => name))
  const plugins = new Set(migrations.map(({ owner }) => owner?.plugin))
  const unknown: UnknownMigration[] = []
  const removed = new Set<string>()
  for (const [name, addedPlugin] of applied) {
    if (known.has(name) || name.startsWith(MOVE_MARK)) continue
    if (addedPlugin === null || plugins.has(addedPlugin)) unknown.push({ name, addedPlugin })
    else removed.add(addedPlugin)
  }
  return { unknown: unknown.sort((a, b) => (a.name < b.name ? -1 : 1)), removed: [...removed].sort() }
}

function inOrder(migrations: OwnedMigration[]): OwnedMigration[] {
  const ordered = migrations.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const twice = ordered.find((migration, index) => migration.name === ordered[index + 1]?.name)
  if (twice) throw new StartupError(`Two migrations are named ${twice.name}; rename one of them.`)
  return ordered
}

function refuseIncomplete(applied: Applied): void {
  if ([...applied.keys()].some((name) => name.startsWith(MOVE_MARK)))
    throw new StartupError(
      'This database is the target of a `gameyard move` or `gameyard restore` that is not complete: run the same command again, then start.',
    )
}

function refuseUnknown(unknown: UnknownMigration[]): void {
  const last = unknown.at(-1)
  if (last)
    throw new StartupError(
      `This database was written by ${writerOf(last)}: it holds the migration ${last.name}, which this program doesn't know. Start that version, or restore a backup.`,
    )
}
