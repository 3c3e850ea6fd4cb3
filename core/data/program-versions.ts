import { defineEntity, p } from '@mikro-orm/core'
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

const ProgramVersionSchema = defineEntity({
  name: 'ProgramVersionRow',
  tableName: 'program_versions',
  properties: { version: p.string().length(64).primary(), openedAt: p.datetime(3) },
})
/** A version of the program that has opened the database. */
export class ProgramVersionRow extends ProgramVersionSchema.class {}
ProgramVersionSchema.setClass(ProgramVersionRow)

/** The part of a database that the version record needs. */
interface Versioned {
  query(sql: string, parameters: readonly string[]): Promise<object[]>
  execute(sql: string, parameters: readonly (string | Date)[]): Promise<number>
}

/** Returns the version of the program that last opened a database; null when none did or it did not record one. */
export async function lastVersion(driver: Pick<Versioned, 'query'>): Promise<string | null> {
  const newest = 'select version from program_versions order by opened_at desc, version limit 1'
  const rows = (await driver.query(newest, []).catch(() => [])) as { version: string }[]
  return rows[0]?.version ?? null
}

/** Records the version that has opened a database, unless the last record is the same. */
export async function noteVersion(driver: Versioned, version: string, clock: Clock): Promise<void> {
  if ((await lastVersion(driver)) === version) return
  await driver.execute(
    'insert into program_versions (version, opened_at) values (?, ?) on conflict (version) do update set opened_at = excluded.opened_at',
    [version, clock.now()],
  )
}
