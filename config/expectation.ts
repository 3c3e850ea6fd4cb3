import type { TSchema } from 'typebox'

/** The subset of JSON Schema that configuration schemas use. */
export interface Schema extends TSchema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  items?: Schema
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  pattern?: string | RegExp
  format?: string
  description?: string
  default?: unknown
  examples?: unknown
  secret?: boolean
}

/** Returns the values of an enumeration; null for any other schema. */
export function choices(schema: Schema): unknown[] | null {
  if (schema.enum) return schema.enum
  if ('const' in schema) return [schema.const]
  const lists = schema.anyOf?.map(choices)
  return lists?.every((list) => list !== null) ? lists.flat() : null
}

/** Describes the expected value in words: `a whole number from 0 to 65535`. */
export function expectation(schema: Schema): string {
  const listed = choices(schema)
  if (listed) return listed.length === 1 ? `\`${listed[0]}\`` : `one of ${listed.join(', ')}`
  if (schema.anyOf) return schema.anyOf.map(expectation).join(', or ')
  switch (schema.type) {
    case 'integer':
      return `a whole number${between(schema.minimum, schema.maximum)}`
    case 'number':
      return `a number${between(schema.minimum ?? schema.exclusiveMinimum, schema.maximum)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `a list${schema.minItems ? ` of ${schema.minItems} or more` : ''}${schema.items ? `, each ${expectation(schema.items)}` : ''}`
    case 'object':
      return 'a mapping of keys and values'
    case 'null':
      return 'nothing'
    default:
      return text(schema)
  }
}

function text(schema: Schema): string {
  const example = Array.isArray(schema.examples) ? schema.examples[0] : undefined
  if (example !== undefined) return `text such as \`${example}\``
  if (schema.format) return `text of the form ${schema.format}`
  const { minLength, maxLength } = schema
  const length =
    minLength && maxLength
      ? ` of ${minLength} to ${maxLength} characters`
      : minLength
        ? ` of ${minLength} or more characters`
        : maxLength
          ? ` of ${maxLength} characters at most`
          : ''
  return `text${length}${schema.pattern ? ` that matches ${schema.pattern}` : ''}`
}

function between(minimum?: number, maximum?: number): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return `, ${minimum} or more`
  return maximum === undefined ? '' : `, ${maximum} at most`
}

/** Describes the actual value on one line. Never shows a secret. */
export function found(schema: Schema, value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (schema.secret) return typeof value === 'string' ? `${value.length} characters` : `a ${typeof value}`
  const shown = JSON.stringify(value)
  const short = shown.length > 60 ? `${shown.slice(0, 57)}…` : shown
  const unquoted = typeof value !== 'string' && schema.type === 'string'
  return unquoted ? `${short}; put it in quotes if it is text` : short
}
