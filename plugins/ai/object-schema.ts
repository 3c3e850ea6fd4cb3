import type { Ajv, ValidateFunction } from 'ajv'
import { asJsonSchema, type Dialect, dialectOf, MAPS } from './schema-dialects.ts'

/** The most schemas in a schema, itself included. The work to compile one grows with their number, not with its bytes. */
export const MOST_SUBSCHEMAS = 500

/** A compiler keeps a part of each schema, so it is replaced after this number of schemas. */
const COMPILES = 50

const current = new Map<Dialect, { loaded: Promise<Loaded>; left: number }>()

interface Loaded {
  compiler: Ajv
  /** Whether a name is that of a meta-schema, which a schema must not take away. */
  isReserved(id: unknown): boolean
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
    const { $schema: _draft, ...rules } = asJsonSchema(schema)
    const { compiler, isReserved, forget } = await nextCompiler(dialectOf(schema))
    if (isReserved(rules.$id)) throw new InvalidSchema('has the $id of a meta-schema')
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

function nextCompiler(dialect: Dialect): Promise<Loaded> {
  let compiler = current.get(dialect)
  if (!compiler?.left) {
    compiler = { loaded: load(dialect), left: COMPILES }
    current.set(dialect, compiler)
  }
  compiler.left--
  return compiler.loaded
}

const COMPILERS = {
  '2020-12': async () => (await import('ajv/dist/2020.js')).Ajv2020,
  '2019-09': async () => (await import('ajv/dist/2019.js')).Ajv2019,
  'draft-07': async () => (await import('ajv')).Ajv,
}

async function load(dialect: Dialect): Promise<Loaded> {
  const [Compiler, formats] = await Promise.all([COMPILERS[dialect](), import('ajv-formats')])
  // A reference is a call: copies of what is referred to would multiply.
  const compiler = new Compiler({ strict: false, validateFormats: true, logger: false, inlineRefs: false })
  ;(formats.default as unknown as (ajv: Ajv) => void)(compiler)
  const own = new Set(Object.keys(compiler.refs))
  const isReserved = (id: unknown) =>
    typeof id === 'string' && [id, id.replace(/#$/, '')].some((name) => own.has(name) || name in compiler.schemas)
  // Each `$id` would otherwise stay registered, and be visible to the schemas of other callers.
  const forget = () => {
    for (const ref of Object.keys(compiler.refs)) if (!own.has(ref)) delete compiler.refs[ref]
  }
  return { compiler, isReserved, forget }
}
