import type { Clock } from '../clock.ts'
import type { Migration } from './migrations.ts'

export const versionMigrations: Migration[] = [
  {
    name: '2026_11_23_program_versions',
    sqlite: ['create table `program_versions` (`version` text not null primary key, `opened_at` datetime not null);'],
    postgres: [
      'create table "program_versions" ("version" varchar(64) not null, "opened_at" timestamptz(3) not null, primary key ("version"));',
    ],
  },
]

/** What it takes of a database to know. */
interface Versioned {
  query(sql: string, parameters: readonly string[]): Promise<object[]>
  execute(sql: string, parameters: readonly (string | Date)[]): Promise<number>
}

/** The version of the program that opened a database last; null when that did not write it down, or none has. */
export async function lastVersion(driver: Pick<Versioned, 'query'>): Promise<string | null> {
  const newest = 'select version from program_versions order by opened_at desc, version limit 1'
  const rows = (await driver.query(newest, []).catch(() => [])) as { version: string }[]
  return rows[0]?.version ?? null
}

/** Writes down which version has opened a database, unless it did so last. */
export async function noteVersion(driver: Versioned, version: string, clock: Clock): Promise<void> {
  if ((await lastVersion(driver)) === version) return
  await driver.execute(
    'insert into program_versions (version, opened_at) values (?, ?) on conflict (version) do update set opened_at = excluded.opened_at',
    [version, clock.now()],
  )
}
