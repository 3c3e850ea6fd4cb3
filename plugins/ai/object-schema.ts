import type { Ajv2020 as Ajv, ValidateFunction } from 'ajv/dist/2020.js'

/** The most schemas in a schema, itself included. The work to compile one grows with their number, not with its bytes. */
export const MOST_SUBSCHEMAS = 500

/** A compiler keeps a part of each schema, so it is replaced after this number of schemas. */
const COMPILES = 50

/** Keywords whose value has a subschema for each name (JSON Schema 2020-12, and those of earlier drafts). */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']

let current: { loaded: Promise<Loaded>; left: number } | undefined

interface Loaded {
  compiler: Ajv
  /** Removes the names that a schema gave to its parts. */
  forget(): void
}

/** A schema and the object to check, as JSON. Without an object only the schema is checked. */
export interface SchemaTask {
  schema: string
  object?: string
}

/** What is wrong with the schema, in words that follow `it`, or whether the object matches. */
export type SchemaAnswer = { problem: string } | { matches: boolean }

/** Does a task. */
export async function checkObject({ schema, object }: SchemaTask): Promise<SchemaAnswer> {
  try {
    const compiled = await ObjectSchema.compile(JSON.parse(schema))
    return { matches: object === undefined || compiled.matches(JSON.parse(object)) }
  } catch (error) {
    if (error instanceof InvalidSchema) return { problem: error.message }
    // A schema that refers to itself without an end, or an object that is nested too deeply.
    if (error instanceof RangeError) return { matches: false }
    throw error
  }
}

/** What is wrong with a schema. The message follows `it`. */
export class InvalidSchema extends Error {
  override name = 'InvalidSchema'
}

/**
 * The JSON Schema that a generated object must match.
 *
 * Patterns, and references that multiply each other, may take unbounded time and memory. So the server calls this in a
 * worker thread only (`schema-check.ts`).
 */
export class ObjectSchema {
  readonly #validate: ValidateFunction

  private constructor(validate: ValidateFunction) {
    this.#validate = validate
  }

  /** Compiles a schema. @throws InvalidSchema */
  static async compile(schema: Record<string, unknown>): Promise<ObjectSchema> {
    if (hasTooMany(schema)) throw new InvalidSchema(`has more than ${MOST_SUBSCHEMAS} subschemas`)
    // Drafts differ only in features that are not used here, so every schema is read as 2020-12.
    const { $schema: _draft, $id: _id, ...rules } = schema
    const { compiler, forget } = await nextCompiler()
    try {
      return new ObjectSchema(compiler.compile(rules))
    } catch (error) {
      if (error instanceof RangeError) throw new InvalidSchema('is too complex')
      throw new InvalidSchema((error as Error).message.replace(/^schema is invalid: /, ''))
    } finally {
      compiler.removeSchema(rules)
      forget()
    }
  }

  matches(value: unknown): boolean {
    return this.#validate(value) === true
  }
}

/** Counts whatever may be used as a subschema, since a `$ref` can name the value of any keyword. */
function hasTooMany(schema: object): boolean {
  let count = 0
  const waiting: object[] = [schema]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    for (const [keyword, value] of Object.entries(next)) {
      const isMany = Array.isArray(value) || MAPS.includes(keyword)
      for (const part of isMany ? Object.values(value ?? {}) : [value]) {
        if (typeof part === 'boolean' && isMany) count++
        if (typeof part !== 'object' || part === null) continue
        count++
        waiting.push(part)
      }
      if (count >= MOST_SUBSCHEMAS) return true
    }
  }
  return false
}

function nextCompiler(): Promise<Loaded> {
  if (!current?.left) current = { loaded: load(), left: COMPILES }
  current.left--
  return current.loaded
}

async function load(): Promise<Loaded> {
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')])
  // A reference is a call: copies of what is referred to would multiply.
  const compiler = new Ajv2020({ strict: false, validateFormats: true, logger: false, inlineRefs: false })
  ;(formats.default as unknown as (ajv: Ajv) => void)(compiler)
  const own = new Set(Object.keys(compiler.refs))
  // Each `$id` below the root would otherwise stay registered, and be visible to the schemas of other callers.
  const forget = () => {
    for (const ref of Object.keys(compiler.refs)) if (!own.has(ref)) delete compiler.refs[ref]
  }
  return { compiler, forget }
}
