import Value from 'typebox/value'
import { stringify } from 'yaml'
import type { Schema } from './expectation.ts'
import { isMapping } from './validate.ts'

const MASK = '********'

/**
 * Returns the configuration with secrets masked, including passwords inside addresses.
 *
 * @param schema the schema that validated the configuration; it marks the secrets
 */
export function maskSecrets(value: unknown, schema: Schema): unknown {
  if (schema.secret) return MASK
  if (typeof value === 'string') return value.replace(/(:\/\/[^/?#\s:@]*):[^/?#\s@]+@/g, `$1:${MASK}@`)
  if (schema.anyOf) {
    const branch = schema.anyOf.find((candidate) => Value.Check(candidate, value))
    return branch ? maskSecrets(value, branch) : MASK
  }
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, schema.items ?? {}))
  if (!isMapping(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, maskSecrets(item, schemaOf(name, schema))]),
  )
}

function schemaOf(name: string, { properties, patternProperties, additionalProperties }: Schema): Schema {
  if (properties && Object.hasOwn(properties, name)) return properties[name] as Schema
  const pattern = Object.entries(patternProperties ?? {}).find(([source]) => new RegExp(source, 'u').test(name))
  return pattern?.[1] ?? (typeof additionalProperties === 'object' ? additionalProperties : {})
}

/** Formats the effective configuration as YAML, with secrets masked. */
export const printConfig = (config: object, schema: Schema): string =>
  stringify(maskSecrets(config, schema), { lineWidth: 0 })
