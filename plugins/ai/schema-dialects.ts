/** The dialects of JSON Schema whose compilers differ; draft-06 and draft-04 are read as draft-07. */
export type Dialect = '2020-12' | '2019-09' | 'draft-07'
type Schema = Record<string, unknown>

/** Keywords whose value has a subschema for each name (JSON Schema 2020-12, and those of earlier drafts). */
export const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']
/** Keywords whose value is a schema or a list of schemas. */
const APPLICATORS = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
]
/** Keywords that name a schema or hold parts of it, and stay where references look for them. */
const NAMES = ['$id', '$anchor', '$dynamicAnchor', '$defs', 'definitions']

/**
 * Returns the dialect that a schema names in `$schema`. Without one it is 2020-12, or draft-07 if it has tuples in the
 * form of draft-07, as TypeBox writes them.
 */
export function dialectOf(schema: Schema): Dialect {
  const { $schema } = schema
  const named =
    typeof $schema === 'string' ? /\/(draft-0[467]|2019-09|2020-12)\/schema#?$/.exec($schema)?.[1] : undefined
  if (named === '2019-09' || named === '2020-12') return named
  return named !== undefined || hasTuple(schema) ? 'draft-07' : '2020-12'
}

/** Whether `items` is a list somewhere, which 2020-12 calls `prefixItems`. */
const hasTuple = (schema: unknown): boolean =>
  isSchema(schema) && (Array.isArray(schema.items) || partsOf(schema).some(hasTuple))

/** Converts what OpenAPI 3.0 and draft-04 write in another way: `nullable` and boolean exclusive limits. */
export function asJsonSchema(schema: Schema): Schema {
  const converted = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (MAPS.includes(keyword) && isSchema(value)) return [keyword, mapValues(value, convertPart)]
      if (!APPLICATORS.includes(keyword)) return [keyword, value]
      return [keyword, Array.isArray(value) ? value.map(convertPart) : convertPart(value)]
    }),
  )
  for (const [limit, exclusive] of LIMITS) {
    if (typeof converted[exclusive] !== 'boolean') continue
    const isExclusive = converted[exclusive]
    delete converted[exclusive]
    if (!isExclusive || converted[limit] === undefined) continue
    converted[exclusive] = converted[limit]
    delete converted[limit]
  }
  const { nullable, ...rest } = converted
  if (typeof nullable !== 'boolean') return converted
  if (!nullable) return rest
  const kept = Object.entries(rest).filter(([keyword]) => NAMES.includes(keyword))
  const rules = Object.entries(rest).filter(([keyword]) => !NAMES.includes(keyword))
  return { ...Object.fromEntries(kept), anyOf: [{ type: 'null' }, Object.fromEntries(rules)] }
}

const LIMITS = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const

const convertPart = (part: unknown): unknown => (isSchema(part) ? asJsonSchema(part) : part)

const mapValues = (map: Schema, convert: (value: unknown) => unknown): Schema =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, convert(value)]))

const partsOf = (schema: Schema): unknown[] => [
  ...MAPS.flatMap((keyword) => (isSchema(schema[keyword]) ? Object.values(schema[keyword]) : [])),
  ...APPLICATORS.flatMap((keyword) => schema[keyword]),
]

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
