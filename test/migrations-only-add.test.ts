// Tests migrations for rolling updates: while nodes are replaced one at a time, the previous version runs on a database
// that the new version has migrated.
import t from 'tap'
import { migrationsOf } from '../core/boot/database.ts'
import { plugins } from '../plugins/index.ts'

/** Matches the name of an existing table at the start of a statement, with any quotes. */
const NAME = '[`"]?([a-z0-9_]+)[`"]?'
const CREATE_TABLE = new RegExp(`^create table (?:if not exists )?${NAME}`, 'i')
const CREATE_INDEX = new RegExp(`^create (unique )?index ${NAME} on ${NAME}`, 'i')
const ALTER_TABLE = new RegExp(`^alter table ${NAME} (.*)$`, 'i')
const ADD_COLUMN = new RegExp(`^add (?:column )?(?!constraint)${NAME} (.*)$`, 'i')
const TEXT_COLUMN = new RegExp(`${NAME} varchar\\((\\d+)\\)`, 'gi')
const LENGTHEN = new RegExp(`^alter column ${NAME} type varchar\\((\\d+)\\)$`, 'i')
const DROP_INDEX = new RegExp(`^drop index ${NAME};?$`, 'i')
const INSERT = new RegExp(`^insert into ${NAME}`, 'i')
const COPY = new RegExp(`^insert into ${NAME} \\(([^()]+)\\) select ([^()]+) from ${NAME}$`, 'i')

/**
 * Lists the parts of a migration that break the previous version. That version inserts rows without the new columns,
 * reads everything that it knew, and assumes that no unknown rule is enforced. A migration may therefore add tables,
 * indexes and nullable columns, and lengthen texts. It may not rename, drop, narrow, make unique or rewrite anything.
 * The migration's own new tables are exempt. On SQLite a migration may store the same rows in another order; see
 * `storedAgain`.
 *
 * @param plain names of indexes that only speed up queries: a migration may drop them
 * @param lengths the original lengths of texts, by `table.column`
 * @param tables the definitions of tables, as `definitions` returns them
 */
function breaking(
  statements: readonly string[],
  plain: ReadonlySet<string> = new Set(),
  lengths: ReadonlyMap<string, number> = new Map(),
  tables: ReadonlyMap<string, string> = new Map(),
): string[] {
  const again = storedAgain(statements, tables)
  if (again) return breaking(again, plain, lengths)
  const own = new Set(statements.map((statement) => CREATE_TABLE.exec(statement)?.[1]).filter(Boolean))
  return statements.filter((text) => {
    const statement = text.trim().replace(/\s+/g, ' ')
    if (CREATE_TABLE.test(statement)) return false
    const index = CREATE_INDEX.exec(statement)
    if (index) return Boolean(index[1]) && !own.has(index[3])
    const dropped = DROP_INDEX.exec(statement)
    if (dropped) return !plain.has(dropped[1] ?? '')
    const insert = INSERT.exec(statement)
    if (insert) return !own.has(insert[1])
    const alter = ALTER_TABLE.exec(statement)
    if (!alter) return true
    if (own.has(alter[1])) return false
    const longer = LENGTHEN.exec(alter[2] ?? '')
    if (longer) return Number(longer[2]) <= (lengths.get(`${alter[1]}.${longer[1]}`) ?? Infinity)
    const column = ADD_COLUMN.exec(alter[2] ?? '')
    if (!column) return true
    const definition = column[2] ?? ''
    return (
      /\bunique\b|\breferences\b|\bcheck\b/i.test(definition) ||
      (/\bnot null\b/i.test(definition) && !/\bdefault\b/i.test(definition))
    )
  })
}

/**
 * Recognises a table that is stored anew on SQLite, with or without row ids: it has the same columns and the same key,
 * all of its rows, and its name, so that the previous version sees no difference.
 *
 * @returns the other statements; null when there is no such table, or anything differs
 */
function storedAgain(statements: readonly string[], tables: ReadonlyMap<string, string>): string[] | null {
  const [create = '', copy = '', drop = '', rename = '', ...others] = statements
  const [, to, into, columns = '', from] = COPY.exec(copy) ?? []
  const name = CREATE_TABLE.exec(create)?.[1]
  if (!name || !from || name !== to || into !== columns) return null
  const isSame =
    definitions([create]).get(name) === tables.get(from) &&
    columns === columnsOf(tables.get(from) ?? '') &&
    drop === `drop table \`${from}\`` &&
    rename === `alter table \`${name}\` rename to \`${from}\``
  return isSame ? others : null
}

/** Returns the columns and keys of the tables that statements create, by table. Row ids are no part of it. */
const definitions = (statements: readonly string[]) =>
  new Map(
    statements.flatMap((statement) => {
      const [, table, definition] =
        /^create table [`"]?([a-z0-9_]+)[`"]? \((.*)\)(?: without rowid)?$/i.exec(statement) ?? []
      return table && definition ? [[table, definition] as const] : []
    }),
  )

/** Returns the names of the columns of a definition, separated by commas. */
const columnsOf = (definition: string) =>
  definition
    .replace(/, primary key .*$/, '')
    .split(', ')
    .map((column) => column.split(' ')[0])
    .join(', ')

/** Returns the names of the non-unique indexes that statements create. */
const plainIndexes = (statements: readonly string[]) =>
  new Set(
    statements.flatMap((statement) => {
      const [, unique, name] = CREATE_INDEX.exec(statement) ?? []
      return name && !unique ? [name] : []
    }),
  )

/** Returns the lengths of the texts in the tables that statements create, by `table.column`. */
const textLengths = (statements: readonly string[]) =>
  new Map(
    statements.flatMap((statement) => {
      const table = CREATE_TABLE.exec(statement)?.[1]
      if (!table) return []
      return [...statement.matchAll(TEXT_COLUMN)].map(([, column, length]) => [`${table}.${column}`, Number(length)])
    }) as [string, number][],
  )

t.test('migrations only add', async (t) => {
  const all = migrationsOf(plugins)
  t.ok(all.length > 10)
  const plain = plainIndexes(all.flatMap(({ sqlite }) => sqlite))
  const lengths = textLengths(all.flatMap(({ postgres }) => postgres))
  const tables = definitions(all.flatMap(({ sqlite }) => sqlite))
  for (const { name, sqlite, postgres } of all) {
    t.same(breaking(sqlite, plain, new Map(), tables), [], `${name} on SQLite`)
    t.same(breaking(postgres, plain, lengths), [], `${name} on PostgreSQL`)
  }
})

t.test('what does more than to add is found', async (t) => {
  const lengths = textLengths(['create table "games" ("id" varchar(30) not null, "title" varchar(80) not null)'])
  for (const statement of [
    'alter table "games" drop column "title"',
    'alter table "games" rename column "title" to "name"',
    'alter table "games" alter column "title" set not null',
    'alter table "games" alter column "title" type varchar(63)',
    'alter table "games" alter column "title" type varchar(80)',
    'alter table "games" alter column "title" type integer',
    'alter table "games" alter column "mood" type varchar(80)',
    'alter table `games` add column `mood` text not null',
    'alter table "games" add constraint "games_title_unique" unique ("title")',
    'create unique index `games_title_unique` on `games` (`title`)',
    'alter table "games" add column "mood" text null unique',
    'drop table games',
    'drop index "games_slug_unique"',
    'update games set title = upper(title)',
    'delete from games',
    'insert into games (id) values (1)',
    'alter table `games__new` rename to `games`',
  ])
    t.same(breaking([statement], new Set(), lengths), [statement])
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
  t.same(breaking(['alter table "games" alter column "title" type varchar(81)'], new Set(), lengths), [])
})

t.test('a table may be stored anew with the same columns, keys and rows', async (t) => {
  const table = 'create table `moods` (`id` text not null, `name` text not null, primary key (`id`))'
  const tables = definitions([`${table} without rowid`])
  const anew = [
    table.replace('moods', 'moods_anew'),
    'insert into `moods_anew` (`id`, `name`) select `id`, `name` from `moods`',
    'drop table `moods`',
    'alter table `moods_anew` rename to `moods`',
  ]
  t.same(breaking([...anew, 'create index moods_name on moods (name)'], new Set(), new Map(), tables), [])
  for (const [index, change] of [
    [0, (text: string) => text.replace('`name` text not null', '`name` text null')],
    [0, (text: string) => text.replace('primary key (`id`)', 'primary key (`id`, `name`)')],
    [1, (text: string) => text.replaceAll(', `name`', '')],
    [1, (text: string) => text.replace('select `id`, `name`', 'select `name`, `id`')],
    [1, (text: string) => `${text} where id > 'a'`],
    [2, (text: string) => text.replace('moods', 'games')],
    [3, (text: string) => text.replace('to `moods`', 'to `feelings`')],
  ] as const) {
    const changed = anew.with(index, change(anew[index] as string))
    t.not(changed[index], anew[index])
    t.ok(breaking(changed, new Set(), new Map(), tables).length > 0, String(changed[index]))
  }
  t.ok(breaking([...anew, 'drop table `games`'], new Set(), new Map(), tables).length > 0)
})
