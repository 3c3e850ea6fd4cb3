import { AuditRow, auditMigrations } from '../data/audit.ts'
import { Database, type DatabaseDriver, type DatabaseOptions } from '../data/database.ts'
import { KeyRotationRow, keyRingMigrations } from '../data/key-rings.ts'
import type { Migration } from '../data/migrations.ts'
import { ProgramVersionRow, versionMigrations } from '../data/program-versions.ts'
import { IdempotentAnswer, idempotencyMigrations } from '../http/idempotency.ts'
import { BackgroundJob, jobMigrations } from '../jobs/jobs.ts'
import type { Plugin } from '../plugin.ts'

type Context = Pick<DatabaseOptions, 'log' | 'clock' | 'tracing' | 'version' | 'refuse' | 'beforeMigration'>

/** Opens the migrated database with the tables of the kernel and all plugins. Some commands need nothing else. */
export const openDatabase = (driver: DatabaseDriver, plugins: Plugin[], context: Context): Promise<Database> =>
  Database.open(driver, { ...schemaOf(plugins), ...context })

/** Like `openDatabase`, but does not migrate the database. */
export const connectDatabase = (driver: DatabaseDriver, plugins: Plugin[], context: Context): Promise<Database> =>
  Database.connect(driver, { ...schemaOf(plugins), ...context })

/** Every table and migration of the kernel and all plugins. */
export const schemaOf = (plugins: Plugin[]) => ({
  entities: [
    AuditRow,
    BackgroundJob,
    IdempotentAnswer,
    KeyRotationRow,
    ProgramVersionRow,
    ...plugins.flatMap((plugin) => plugin.entities),
  ],
  migrations: migrationsOf(plugins),
})

/** Lists the migrations of the kernel and all plugins, in no particular order. */
export const migrationsOf = (plugins: Plugin[]): Migration[] => [
  ...auditMigrations,
  ...jobMigrations,
  ...idempotencyMigrations,
  ...keyRingMigrations,
  ...versionMigrations,
  ...plugins.flatMap((plugin) => plugin.migrations),
]
