import type { Ajv2020 as Ajv, ValidateFunction } from 'ajv/dist/2020.js'
import { InvalidRequest } from '../../core/errors.ts'
import { isTimeout, runWithTimeout, wasStarved } from '../../core/jobs/sync-timeout.ts'

/** The maximum time for a caller's schema in ms, because patterns and nesting can block the event loop forever. */
const LONGEST_MS = 250

/** The maximum number of attempts when a busy machine interrupts the work. */
const ATTEMPTS = 4

/** A compiler keeps a part of each schema, so it is replaced after this number of schemas. */
const COMPILES = 50

let current: { loaded: Promise<Loaded>; left: number } | undefined

interface Loaded {
  compiler: Ajv
  /** Removes the names that a schema gave to its parts. */
  forget(): void
}

/** The JSON Schema that a generated object must match. */
export class ObjectSchema {
  readonly #validate: ValidateFunction

  private constructor(validate: ValidateFunction) {
    this.#validate = validate
  }

  /** Compiles a schema. @throws InvalidRequest when it is invalid, too large or too complex */
  static async compile(schema: Record<string, unknown>, mostBytes: number): Promise<ObjectSchema> {
    if (Buffer.byteLength(JSON.stringify(schema)) > mostBytes) throw invalid(`is larger than ${mostBytes} bytes`)
    // Drafts differ only in features that are not used here, so every schema is read as 2020-12.
    const { $schema: _draft, $id: _id, ...rules } = schema
    for (let attempt = 1; ; attempt++) {
      const { compiler, forget } = await nextCompiler()
      try {
        return new ObjectSchema(runWithTimeout(LONGEST_MS, () => compiler.compile(rules)))
      } catch (error) {
        // An interrupted compiler is left in an inconsistent state.
        if (isTimeout(error)) current = undefined
        if (wasStarved(error) && attempt < ATTEMPTS) continue
        throw invalid(
          isTimeout(error) ? 'is too complex' : (error as Error).message.replace(/^schema is invalid: /, ''),
        )
      } finally {
        compiler.removeSchema(rules)
        forget()
      }
    }
  }

  /** Whether a value matches. A value that can't be checked in time does not match. */
  matches(value: unknown): boolean {
    for (let attempt = 1; ; attempt++) {
      try {
        return runWithTimeout(LONGEST_MS, () => this.#validate(value)) === true
      } catch (error) {
        if (wasStarved(error) && attempt < ATTEMPTS) continue
        if (isTimeout(error)) return false
        throw error
      }
    }
  }
}

function nextCompiler(): Promise<Loaded> {
  if (!current?.left) current = { loaded: load(), left: COMPILES }
  current.left--
  return current.loaded
}

async function load(): Promise<Loaded> {
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')])
  const compiler = new Ajv2020({ strict: false, validateFormats: true, logger: false })
  ;(formats.default as unknown as (ajv: Ajv) => void)(compiler)
  compiler.compile({ type: 'object' }) // compiles the meta-schema outside of callers' time limits
  const own = new Set(Object.keys(compiler.refs))
  // Each `$id` below the root would otherwise stay registered, and be visible to the schemas of other callers.
  const forget = () => {
    for (const ref of Object.keys(compiler.refs)) if (!own.has(ref)) delete compiler.refs[ref]
  }
  return { compiler, forget }
}

const invalid = (message: string) =>
  new InvalidRequest(`The schema is not valid: it ${message.slice(0, 300)}.`).with({
    details: [{ path: 'schema', message: message.slice(0, 300) }],
  })
