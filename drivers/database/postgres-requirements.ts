import type pg from 'pg'
import { StartupError } from '../../core/errors.ts'

const OLDEST_POSTGRES = 14

/** A table that only this platform has. */
const OWN_TABLE = 'program_versions'

interface Facts {
  version: number
  encoding: string
  dates: string
  role: string
  database: string
  /** The schema in which new tables are made; null if `search_path` names none that exists. */
  schema: string | null
  path: string
  may_create: boolean | null
  standby: boolean
  read_only: boolean
  /** Whether the tables of the platform are found by their names. */
  found: boolean
  /** Whether migrations have run. */
  migrated: boolean
  /** The schemas, apart from those of `search_path`, in which the tables of the platform are. */
  elsewhere: string[] | null
}

const FACTS = `select
  current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding,
  current_setting('DateStyle') as dates,
  current_user as role,
  current_database() as database,
  current_schema() as schema,
  current_setting('search_path') as path,
  has_schema_privilege(current_schema(), 'CREATE') as may_create,
  pg_is_in_recovery() as standby,
  current_setting('default_transaction_read_only')::boolean as read_only,
  to_regclass('${OWN_TABLE}') is not null as found,
  to_regclass('schema_migrations') is not null as migrated,
  (select array_agg(nspname::text) from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = '${OWN_TABLE}' and relkind = 'r' and has_table_privilege(pg_class.oid, 'SELECT')
      and nspname <> all (current_schemas(false))) as elsewhere`

/**
 * Checks what the platform needs of a PostgreSQL, before anything is written.
 *
 * @param address host, port and database for messages
 * @throws StartupError with one sentence and the command that helps
 */
export async function checkRequirements(pool: pg.Pool, address: string): Promise<void> {
  const { rows } = await pool.query<Facts>(FACTS)
  const trouble = rows[0] && troubleOf(rows[0])
  if (trouble) throw new StartupError(`The database at ${address} ${trouble}.`)
}

/** Says that a role lacks a right on a schema, with the command that grants it. */
export const missingRight = (schema: string, role: string): string =>
  `does not let ${role} create tables in the schema ${schema}: as its owner run: grant usage, create on schema ${quoted(schema)} to ${quoted(role)}`

/** Returns what is wrong, as the rest of a sentence; null if nothing is. */
function troubleOf(facts: Facts): string | null {
  const { version, encoding, dates, role, database, schema, path, found, elsewhere } = facts
  /** A setting of a role in a database precedes those of the role, of the database and of the server. */
  const set = (setting: string) => `alter role ${quoted(role)} in database ${quoted(database)} set ${setting}`
  if (version < OLDEST_POSTGRES) return `is PostgreSQL ${version}; Gameyard needs ${OLDEST_POSTGRES} or later`
  if (facts.standby) return 'is a standby, which takes no writes: name the primary in database.url'
  if (facts.read_only)
    return `takes no writes from ${role}: run: begin read write; ${set('default_transaction_read_only to off')}; commit`
  if (encoding !== 'UTF8')
    return `is in ${encoding}, which has not every letter: create one in UTF-8: createdb --encoding=UTF8 --template=template0 ${quoted(`${database}_utf8`)}`
  if (!dates.startsWith('ISO')) return `writes dates as ${dates}: run: ${set("datestyle to 'ISO'")}`
  if (!found && elsewhere?.[0] !== undefined)
    return `has the tables of the platform in the schema ${elsewhere[0]}, and search_path (${path}) does not lead there: run: ${set(`search_path to ${quoted(elsewhere[0])}`)}`
  if (schema === null) return `has no schema of those in search_path (${path}): run: ${set('search_path to public')}`
  // A role that only lacks the right to create can run the version whose tables are there.
  if (!facts.migrated && !facts.may_create) return missingRight(schema, role)
  return null
}

/** Quotes an identifier where it needs that. */
const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`)
