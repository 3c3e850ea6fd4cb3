// While nodes are replaced one at a time, the version before runs on a database that the new one has migrated.
import t from 'tap'
import { idempotencyMigrations } from '../core/idempotency.ts'
import { jobMigrations } from '../core/jobs.ts'
import { plugins } from '../plugins/index.ts'

/** Begins a statement about a table that is there, whatever quotes it uses. */
const NAME = '[`"]?([a-z0-9_]+)[`"]?'
const CREATE_TABLE = new RegExp(`^create table (?:if not exists )?${NAME}`, 'i')
const CREATE_INDEX = new RegExp(`^create (unique )?index ${NAME} on ${NAME}`, 'i')
const ALTER_TABLE = new RegExp(`^alter table ${NAME} (.*)$`, 'i')
const ADD_COLUMN = new RegExp(`^add (?:column )?(?!constraint)${NAME} (.*)$`, 'i')
const INSERT = new RegExp(`^insert into ${NAME}`, 'i')

/**
 * What of a migration the version before could not live with. It inserts rows without the new columns, reads all that
 * it knew, and relies on no rule that it does not know being enforced: so tables, indexes and columns that may be empty
 * may be added; nothing may be renamed, dropped, narrowed, made unique or rewritten. Tables of the migration itself are
 * nobody else's yet.
 */
function breaking(statements: readonly string[]): string[] {
  const own = new Set(statements.map((statement) => CREATE_TABLE.exec(statement)?.[1]).filter(Boolean))
  return statements.filter((text) => {
    const statement = text.trim().replace(/\s+/g, ' ')
    if (CREATE_TABLE.test(statement)) return false
    const index = CREATE_INDEX.exec(statement)
    if (index) return Boolean(index[1]) && !own.has(index[3])
    const insert = INSERT.exec(statement)
    if (insert) return !own.has(insert[1])
    const alter = ALTER_TABLE.exec(statement)
    if (!alter) return true
    if (own.has(alter[1])) return false
    const column = ADD_COLUMN.exec(alter[2] ?? '')
    if (!column) return true
    const definition = column[2] ?? ''
    return (
      /\bunique\b|\breferences\b|\bcheck\b/i.test(definition) ||
      (/\bnot null\b/i.test(definition) && !/\bdefault\b/i.test(definition))
    )
  })
}

t.test('migrations only add', async (t) => {
  const all = [...jobMigrations, ...idempotencyMigrations, ...plugins.flatMap((plugin) => plugin.migrations)]
  t.ok(all.length > 10)
  for (const { name, sqlite, postgres } of all) {
    t.same(breaking(sqlite), [], `${name} on SQLite`)
    t.same(breaking(postgres), [], `${name} on PostgreSQL`)
  }
})

t.test('what does more than to add is found', async (t) => {
  for (const statement of [
    'alter table "games" drop column "title"',
    'alter table "games" rename column "title" to "name"',
    'alter table "games" alter column "title" set not null',
    'alter table `games` add column `mood` text not null',
    'alter table "games" add constraint "games_title_unique" unique ("title")',
    'create unique index `games_title_unique` on `games` (`title`)',
    'alter table "games" add column "mood" text null unique',
    'drop table games',
    'update games set title = upper(title)',
    'delete from games',
    'insert into games (id) values (1)',
    'alter table `games__new` rename to `games`',
  ])
    t.same(breaking([statement]), [statement])
  t.same(
    breaking([
      'create table "moods" ("id" text not null primary key)',
      'create unique index "moods_id" on "moods" ("id")',
      "insert into moods (id) values ('good')",
      'alter table "moods" add constraint "moods_check" check (id is not null)',
      'create index "games_mood" on "games" ("mood")',
      'alter table "games" add column "mood" text null',
      'alter table `games` add `weight` integer not null default 0',
    ]),
    [],
  )
})
