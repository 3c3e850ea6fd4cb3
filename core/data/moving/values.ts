import type { EntityProperty } from '@mikro-orm/core'
import type { Platform } from '@mikro-orm/sql'
import type { DatabaseDriver, Parameter } from '../database.ts'
import type { Column } from './tables.ts'

type Dialect = DatabaseDriver['dialect']

/**
 * A value between the databases: null, text, a boolean, a number, a BigInt for `bigint`, milliseconds for `instant`,
 * JSON text for `json`, a Buffer for `bytes`; for `custom` whatever the entity holds.
 */
export type Value = unknown

/** The database that values come from or go to. */
export interface Side {
  dialect: Dialect
  platform: Platform
  /** Which of a column's two descriptions is that of this database. */
  which: 'source' | 'target'
}

/** Quotes a name for both dialects. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** The expression that reads a column without loss; `DatabaseDriver.query` alone rounds large numbers. */
export function selected({ name, kind }: Column, dialect: Dialect): string {
  const column = quoted(name)
  const asText = kind === 'bigint' || (dialect === 'postgres' && (kind === 'decimal' || kind === 'text'))
  return asText ? `cast(${column} as text) as ${column}` : column
}

/** Converts what `DatabaseDriver.query` returned for `selected`. */
export function decoded(column: Column, raw: unknown, side: Side): Value {
  if (raw === null || raw === undefined) return null
  switch (column.kind) {
    case 'boolean':
      return raw === 1 || raw === true
    case 'bigint':
      return BigInt(raw as string)
    case 'decimal':
      return String(raw)
    case 'json':
      // PostgreSQL prints JSON with spaces; the platform writes it without.
      return side.dialect === 'postgres' ? JSON.stringify(JSON.parse(raw as string)) : raw
    case 'bytes':
      return Buffer.isBuffer(raw) ? raw : Buffer.from(raw as Uint8Array)
    case 'custom':
      return propertyOf(column, side).customType?.convertToJSValue(raw, side.platform) ?? raw
    default:
      return raw
  }
}

/** The parameter that stores a value. */
export function encoded(column: Column, value: Value, side: Side): Parameter {
  if (value === null) return null
  if (column.kind === 'instant' && typeof value === 'number') return new Date(value)
  if (column.kind !== 'custom') return value as Parameter
  const { customType } = propertyOf(column, side)
  return (customType?.convertToDatabaseValue(value, side.platform, { fromQuery: false }) ?? value) as Parameter
}

const propertyOf = (column: Column, { which }: Side): EntityProperty => column[which]

/**
 * A text that is equal for two values exactly when the platform would read the same from both: the keys of JSON objects
 * have no order, a decimal has no trailing zeros, a `float` has four bytes.
 */
export function canonical({ kind }: Column, value: Value): string {
  if (value === null) return '~'
  const text = canonicalText(kind, value)
  return `${text.length}:${text}`
}

function canonicalText(kind: Column['kind'], value: Value): string {
  switch (kind) {
    case 'json':
      return sortedJson(JSON.parse(value as string))
    case 'custom':
      return sortedJson(JSON.parse(JSON.stringify(value)))
    case 'bytes':
      return (value as Buffer).toString('base64')
    case 'float':
      return String(Math.fround(value as number))
    case 'decimal':
      return (value as string).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
    default:
      return String(value)
  }
}

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${sortedJson(item)}`).join(',')}}`
}

/** A value of a key as JSON can hold it, and back. */
export const keyToJson = ({ kind }: Column, value: Value): unknown =>
  kind === 'bigint' ? String(value) : kind === 'bytes' ? (value as Buffer).toString('base64') : value
export const keyFromJson = ({ kind }: Column, value: unknown): Value =>
  kind === 'bigint' ? BigInt(value as string) : kind === 'bytes' ? Buffer.from(value as string, 'base64') : value
