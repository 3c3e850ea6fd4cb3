import Value from 'typebox/value'
import { choices, expectation, found, type Schema } from './expectation.ts'
import { didYouMean } from './hints.ts'
import { keyOf, type Path } from './problems.ts'

/** The interface between validation and its caller. */
export interface ValidationContext {
  report(path: Path, message: string, at?: 'key' | 'value'): void
  /** Reads the secret that `{ file }` or `{ env }` refers to. @throws Error with a sentence when that fails */
  secret(path: Path, pointer: Record<string, unknown>): string
}

/**
 * Checks a value against its schema, reports every error, and returns the value with defaults filled in and secrets
 * resolved. Refuses unknown keys unless the schema allows `additionalProperties`.
 */
export function validate(schema: Schema, value: unknown, path: Path, context: ValidationContext): unknown {
  if (schema.secret && isMapping(value)) return pointed(schema, value, path, context)
  if (schema.type === 'object') return mapping(schema, value ?? {}, path, context)
  if (schema.type === 'array' && schema.items && Array.isArray(value)) return list(schema, value, path, context)
  if (schema.anyOf && !choices(schema)) return union(schema.anyOf, schema, value, path, context)
  return leaf(schema, value, path, context)
}

function pointed(schema: Schema, pointer: Record<string, unknown>, path: Path, context: ValidationContext): unknown {
  try {
    return leaf(schema, context.secret(path, pointer), path, context)
  } catch (error) {
    context.report(path, `${keyOf(path)}: ${(error as Error).message}`)
    return undefined
  }
}

function leaf(schema: Schema, value: unknown, path: Path, { report }: ValidationContext): unknown {
  if (Value.Check(schema, value)) {
    if (!isAddress(schema) || URL.canParse(value as string)) return value
    report(path, `${keyOf(path)}: ${found(schema, value)} is no web address; check the name and the port`)
    return undefined
  }
  const hint = typeof value === 'string' ? didYouMean(value, (choices(schema) ?? []).map(String)) : ''
  report(path, `${keyOf(path)}: expected ${expectation(schema)}, found ${found(schema, value)}${hint}`)
  return undefined
}

function mapping(schema: Schema, value: unknown, path: Path, context: ValidationContext): unknown {
  if (!isMapping(value)) return leaf(schema, value, path, context)
  const properties = schema.properties ?? {}
  const entries: [string, unknown][] = []
  for (const [name, property] of Object.entries(properties)) {
    const at = [...path, name]
    if (Object.hasOwn(value, name)) entries.push([name, validate(property, value[name], at, context)])
    else if (property.default !== undefined)
      entries.push([name, validate(property, structuredClone(property.default), at, context)])
    else if (!schema.required?.includes(name)) continue
    else if (property.type === 'object') entries.push([name, validate(property, {}, at, context)])
    else context.report(at, `${keyOf(at)} is missing: expected ${expectation(property)}. ${property.description ?? ''}`)
  }
  for (const [name, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) continue
    const other = patternFor(schema, name)
    if (other === true) entries.push([name, item])
    else if (other) entries.push([name, validate(other, item, [...path, name], context)])
    else context.report([...path, name], unknownKey(name, path, properties), 'key')
  }
  return Object.fromEntries(entries)
}

/** Returns the schema of a key that is not listed; true when any value is allowed, null when the key is unknown. */
function patternFor(schema: Schema, name: string): Schema | true | null {
  for (const [pattern, property] of Object.entries(schema.patternProperties ?? {})) {
    if (new RegExp(pattern, 'u').test(name)) return property
  }
  return schema.additionalProperties || null
}

function unknownKey(name: string, path: Path, properties: Record<string, Schema>): string {
  const known = Object.keys(properties)
  const inside = known.find((key) => Object.hasOwn(properties[key]?.properties ?? {}, name))
  if (inside) return `unknown key \`${name}\`, did you mean \`${keyOf([...path, inside, name])}\`?`
  const place = path.length > 0 ? ` in ${keyOf(path)}` : ''
  const hint = didYouMean(name, known)
  if (hint || known.length === 0 || known.length > 12) return `unknown key \`${name}\`${place}${hint}`
  return `unknown key \`${name}\`${place}; expected ${known.join(', ')}`
}

function list(schema: Schema, value: unknown[], path: Path, context: ValidationContext): unknown {
  let sound = true
  const report: ValidationContext['report'] = (...problem) => {
    sound = false
    context.report(...problem)
  }
  const items = value.map((item, index) =>
    validate(schema.items as Schema, item, [...path, index], { ...context, report }),
  )
  return sound ? leaf(schema, items, path, context) : undefined
}

/**
 * Uses the first branch that accepts the value; otherwise reports the errors of the one branch that matches the shape
 * of the value.
 */
function union(branches: Schema[], whole: Schema, value: unknown, path: Path, context: ValidationContext): unknown {
  for (const branch of branches) {
    let sound = true
    const report = () => {
      sound = false
    }
    const result = validate(branch, value, path, { ...context, report })
    if (sound) return result
  }
  const shaped = branches.filter(
    ({ type }) => (type === 'object' && isMapping(value)) || (type === 'array' && Array.isArray(value)),
  )
  if (shaped.length === 1) return validate(shaped[0] as Schema, value, path, context)
  return leaf(whole, value, path, context)
}

/** Whether a schema is that of a web address, whose pattern does not say that a port is a number below 65,536. */
const isAddress = ({ pattern }: Schema): boolean => String(pattern ?? '').startsWith('^https?://')

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
