import { AuditRow, auditMigrations } from '../data/audit.ts'
import { Database, type DatabaseDriver, type DatabaseOptions } from '../data/database.ts'
import { KeyRotationRow, keyRingMigrations } from '../data/key-rings.ts'
import { type OwnedMigration, ownerMigrations } from '../data/migrations.ts'
import { ProgramVersionRow, versionMigrations } from '../data/program-versions.ts'
import { IdempotentAnswer, idempotencyMigrations } from '../http/idempotency.ts'
import { BackgroundJob, jobMigrations } from '../jobs/jobs.ts'
import type { Plugin } from '../plugin.ts'

interface Context
  extends Pick<DatabaseOptions, 'log' | 'clock' | 'tracing' | 'version' | 'refuse' | 'beforeMigration'> {
  /** The plugins that are turned off. Their tables may exist. */
  disabled?: Plugin[]
}

/** Opens the migrated database with the tables of the kernel and all plugins. Some commands need nothing else. */
export const openDatabase = (
  driver: DatabaseDriver,
  plugins: Plugin[],
  { disabled, ...context }: Context,
): Promise<Database> => Database.open(driver, { ...optionsOf(plugins, disabled), ...context })

/** Like `openDatabase`, but does not migrate the database. */
export const connectDatabase = (
  driver: DatabaseDriver,
  plugins: Plugin[],
  { disabled, ...context }: Context,
): Promise<Database> => Database.connect(driver, { ...optionsOf(plugins, disabled), ...context })

/** The tables in use, and the migrations of all that may exist. */
const optionsOf = (plugins: Plugin[], disabled?: Plugin[]) => ({
  entities: entitiesOf(plugins),
  migrations: migrationsOf(plugins, disabled),
})

/** Every table and migration of the kernel and all plugins, for a copy of a whole database. */
export const schemaOf = (plugins: Plugin[], disabled: Plugin[] = []) => ({
  entities: entitiesOf([...plugins, ...disabled]),
  migrations: migrationsOf(plugins, disabled),
})

const entitiesOf = (plugins: Plugin[]) => [
  AuditRow,
  BackgroundJob,
  IdempotentAnswer,
  KeyRotationRow,
  ProgramVersionRow,
  ...plugins.flatMap((plugin) => plugin.entities),
]

/** Lists the migrations of the kernel and all plugins, in no particular order. */
export const migrationsOf = (plugins: Plugin[], disabled: Plugin[] = []): OwnedMigration[] => [
  ...auditMigrations,
  ...jobMigrations,
  ...idempotencyMigrations,
  ...keyRingMigrations,
  ...versionMigrations,
  ...ownerMigrations,
  ...plugins.flatMap((plugin) => ownedBy(plugin, true)),
  ...disabled.flatMap((plugin) => ownedBy(plugin, false)),
]

const ownedBy = ({ name, module, migrations }: Plugin, enabled: boolean): OwnedMigration[] =>
  migrations.map((migration) => ({ ...migration, owner: { plugin: name, added: module !== undefined, enabled } }))
