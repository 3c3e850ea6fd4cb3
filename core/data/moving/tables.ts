import { type EntityMetadata, type EntityProperty, JsonType } from '@mikro-orm/core'
import type { MikroORM } from '@mikro-orm/sql'
import { MoveError } from './errors.ts'

/**
 * How a value is stored in each database, and how it is compared:
 *
 * - `text`: also dates without a time, times of day, UUIDs and enums
 * - `instant`: milliseconds since 1970; `timestamptz` in PostgreSQL
 * - `decimal`: text, exact
 * - `bytes`: a Buffer
 * - `custom`: a MikroORM type with a conversion of its own for each database
 */
export type Kind =
  | 'text'
  | 'boolean'
  | 'integer'
  | 'bigint'
  | 'double'
  | 'float'
  | 'decimal'
  | 'instant'
  | 'json'
  | 'bytes'
  | 'custom'

/** A column of a table, by the entity's metadata. */
export interface Column {
  name: string
  kind: Kind
  /** Whether a value can be longer than a few thousand characters. */
  unbounded: boolean
  /** Whether the database numbers new rows in this column. */
  numbered: boolean
  /** The metadata of the property in the source and in the target, for a conversion of their own. */
  source: EntityProperty
  target: EntityProperty
}

/** A table that is moved. */
export interface Table {
  name: string
  columns: Column[]
  /** The columns of the primary key, in its order. */
  key: Column[]
}

/**
 * Lists the tables of all entities, from the metadata that MikroORM has of them for each of the two databases.
 *
 * @throws MoveError when a table has no primary key
 */
export function tablesOf(source: MikroORM, target: MikroORM): Table[] {
  const targets = new Map(stored(target).map((meta) => [meta.tableName, meta]))
  return stored(source)
    .map((meta) => tableOf(meta, targets.get(meta.tableName) as EntityMetadata))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The entities with a table of their own: no views, no embedded ones, each table once. */
function stored(orm: MikroORM): EntityMetadata[] {
  const all = [...orm.getMetadata().getAll().values()] as EntityMetadata[]
  const tables = all.filter(({ virtual, view, embeddable, abstract }) => !virtual && !view && !embeddable && !abstract)
  // With single-table inheritance, the root has the properties of all.
  return tables.filter(({ root, tableName, className }) => tableName && (!root || root.className === className))
}

function tableOf(meta: EntityMetadata, other: EntityMetadata): Table {
  const columns = new Map<string, Column>()
  for (const source of Object.values(meta.properties) as EntityProperty[]) {
    const target = other.properties[source.name as never] as EntityProperty
    for (const [index, name] of columnsOf(source).entries()) {
      if (columns.has(name)) continue
      columns.set(name, columnOf(name, index, source, target))
    }
  }
  const key = meta.primaryKeys.flatMap((name) => columnsOf(meta.properties[name as never] as EntityProperty))
  if (key.length === 0)
    throw new MoveError(`The table ${meta.tableName} has no primary key, so its rows can't be moved.`)
  return {
    name: meta.tableName,
    columns: [...columns.values()],
    key: [...new Set(key)].map((name) => columns.get(name) as Column),
  }
}

/** Returns the columns that a property is stored in; none for a computed one or the other side of a relation. */
function columnsOf({ kind, persist, formula, mappedBy, fieldNames = [], object }: EntityProperty): string[] {
  if (persist === false || formula || mappedBy || kind === '1:m' || kind === 'm:n') return []
  return kind === 'embedded' && !object ? [] : fieldNames
}

function columnOf(name: string, index: number, source: EntityProperty, target: EntityProperty): Column {
  const types = [source, target].map(({ columnTypes }) => (columnTypes?.[index] ?? 'text').toLowerCase())
  const kind = kindOf(types as [string, string], source)
  const short = types.some((type) => /^(var)?char\(/.test(type))
  return {
    name,
    kind,
    unbounded: kind === 'bytes' || kind === 'json' || kind === 'custom' || (kind === 'text' && !short),
    numbered: source.autoincrement === true,
    source,
    target,
  }
}

/** The more exact of the two declared types tells the kind: PostgreSQL's, where one of the databases is one. */
function kindOf(types: [string, string], { type, customType }: EntityProperty): Kind {
  if (customType instanceof JsonType) return 'json'
  if (types.some((declared) => declared.endsWith('[]'))) return 'custom'
  if (type === 'boolean' || types.includes('boolean')) return 'boolean'
  for (const [pattern, kind] of KINDS) if (types.some((declared) => pattern.test(declared))) return kind
  return customType && customType.constructor.name === 'ArrayType' ? 'custom' : 'text'
}

const KINDS: [RegExp, Kind][] = [
  [/^jsonb?$/, 'json'],
  [/^(timestamp|datetime)/, 'instant'],
  [/^(bytea|blob)/, 'bytes'],
  [/^(bigint|bigserial|int8)/, 'bigint'],
  [/^(double|float8)/, 'double'],
  [/^(real|float)/, 'float'],
  [/^(numeric|decimal)/, 'decimal'],
  [/^(date|time|interval|uuid|varchar|char|text|enum)/, 'text'],
  [/^(int|smallint|tinyint|mediumint|serial)/, 'integer'],
]
