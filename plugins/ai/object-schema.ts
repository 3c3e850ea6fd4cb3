import type { Ajv2020 as Ajv, ValidateFunction } from 'ajv/dist/2020.js'
import { InvalidRequest } from '../../core/errors.ts'
import { isTimeout, runWithTimeout, wasStarved } from '../../core/jobs/sync-timeout.ts'

/** How long a schema of a caller may keep everybody waiting, in ms: patterns and nesting can take for ever. */
const LONGEST_MS = 250

/** How often work is begun that a busy machine does not let run. */
const ATTEMPTS = 4

/** A compiler keeps a part of each schema that it has seen, so there is a new one after so many. */
const COMPILES = 50

let current: { loaded: Promise<Loaded>; left: number } | undefined

interface Loaded {
  compiler: Ajv
  /** Takes back the names that a schema gave to its parts. */
  forget(): void
}

/** The JSON Schema that a caller wants an object to match. */
export class ObjectSchema {
  readonly #validate: ValidateFunction

  private constructor(validate: ValidateFunction) {
    this.#validate = validate
  }

  /** @throws InvalidRequest when it is none, or too large or complex */
  static async compile(schema: Record<string, unknown>, mostBytes: number): Promise<ObjectSchema> {
    if (Buffer.byteLength(JSON.stringify(schema)) > mostBytes) throw invalid(`is larger than ${mostBytes} bytes`)
    // Drafts differ in what nobody uses here; by whatever name, it is read as 2020-12.
    const { $schema: _draft, $id: _id, ...rules } = schema
    for (let attempt = 1; ; attempt++) {
      const { compiler, forget } = await nextCompiler()
      try {
        return new ObjectSchema(runWithTimeout(LONGEST_MS, () => compiler.compile(rules)))
      } catch (error) {
        // An interrupted compiler keeps the schema half done.
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

  /** Whether a value matches; one that can't be decided in time does not. */
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
  compiler.compile({ type: 'object' }) // the schema of schemas, once, at nobody's cost
  const own = new Set(Object.keys(compiler.refs))
  // Each `$id` below the root stays known otherwise: for good, and to the schemas of everybody else.
  const forget = () => {
    for (const ref of Object.keys(compiler.refs)) if (!own.has(ref)) delete compiler.refs[ref]
  }
  return { compiler, forget }
}

const invalid = (message: string) =>
  new InvalidRequest(`The schema is not valid: it ${message.slice(0, 300)}.`).with({
    details: [{ path: 'schema', message: message.slice(0, 300) }],
  })
