import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { defineEntity, p } from '@mikro-orm/core'
import { systemClock } from '../../core/clock.ts'
import { Database } from '../../core/data/database.ts'
import type { Migration } from '../../core/data/migrations.ts'
import { createLog } from '../../core/observe/log.ts'
import { driverContext } from './driver-context.ts'

/** Migrations that take some time: they create tables with rows, one after another. */
export const slowMigrations: Migration[] = Array.from({ length: 20 }, (_, index) => {
  const table = `slow_${String(index).padStart(2, '0')}`
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)'
  const statements = [
    `create table ${table} (id int primary key, text varchar(100))`,
    `insert into ${table} ${numbers} select i, 'row' from n`,
    `create index ${table}_text on ${table} (text)`,
  ]
  return { name: `2026_11_21_${table}`, sqlite: statements, postgres: statements }
})

/** The migrations of a platform's start in a separate process: `[dialect, file or URL]`. */
export interface MigratingProcess {
  child: ChildProcess
  /** Resolves before the process opens the database. */
  opening: Promise<void>
  /** Resolves with the exit code, or null when the process was killed. */
  ended: Promise<number | null>
}

export function startMigrating(dialect: Database['dialect'], place: string): MigratingProcess {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), dialect, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, opening: Promise.race([once(child.stdout, 'data'), ended]).then(() => {}), ended }
}

/** Opens the database as the platform does at its start. */
export async function openMigrated(dialect: Database['dialect'], place: string): Promise<Database> {
  const entities = [defineEntity({ name: 'Slow00', tableName: 'slow_00', properties: { id: p.integer().primary() } })]
  const driver =
    dialect === 'sqlite'
      ? await (await import('../../drivers/database/sqlite.ts')).default.create(
          { file: place, durability: 'full', busyTimeout: 5000 },
          driverContext(),
        )
      : await (await import('../../drivers/database/postgres.ts')).default.create(
          { url: place, poolSize: 2, ssl: 'off' },
          driverContext(),
        )
  return Database.open(driver, { entities, migrations: slowMigrations, log: createLog('silent'), clock: systemClock })
}

if (import.meta.main) {
  const [dialect, place] = process.argv.slice(2) as [Database['dialect'], string]
  process.stdout.write('opening\n')
  await (await openMigrated(dialect, place)).close()
}
