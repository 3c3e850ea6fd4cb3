import { Ajv, type AnySchema, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import type {
  FastifyError,
  FastifySchemaCompiler,
  FastifySchemaValidationError,
  FastifySerializerCompiler,
} from 'fastify'
import type { ErrorDetail } from '../errors.ts'

const base = { useDefaults: true, removeAdditional: false, allErrors: true, strict: false } as const

// Bodies are typed and validated without coercion. A query string has no types, so there "20" becomes 20. Fastify's
// default coerces and removes properties in both. (allErrors is bounded by the body limit: the schemas have no costly
// keywords.)
const strict = withFormats(new Ajv({ ...base, coerceTypes: false }))
const lenient = withFormats(new Ajv({ ...base, coerceTypes: 'array' }))

function withFormats(ajv: Ajv): Ajv {
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  return ajv
}

/**
 * Compiles the schema of one part of a request at the first such request. Compiling the schemas of all routes at once
 * would take a tenth of the start time.
 */
export const validatorCompiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined
  const validate: { (data: unknown): boolean; errors?: ValidateFunction['errors'] } = (data) => {
    compiled ??= (httpPart === 'body' ? strict : lenient).compile(schema)
    const valid = compiled(data) as boolean
    validate.errors = compiled.errors ?? null
    return valid
  }
  return validate as ReturnType<FastifySchemaCompiler<AnySchema>>
}

/** Compiles the schema of an answer, at the first such answer. Fields that it does not name are left out. */
export const serializerCompiler: FastifySerializerCompiler<AnySchema> = ({ schema }) => {
  let serialize: ((data: unknown) => string) | undefined
  return (data) => {
    serialize ??= fastJsonStringify(schema as never)
    return serialize(data)
  }
}

/** A list of 20,000 items can be wrong in as many places; nobody reads on after these. */
const MOST_DETAILS = 50
/** Nor has a field of ours a longer name: what is beyond came from the caller, who need not get it all back. */
const LONGEST_PATH = 200

/** The message of a failed validation, line by line, with the caller's names of fields. */
export function validationDetails(error: FastifyError): ErrorDetail[] {
  return (error.validation ?? []).slice(0, MOST_DETAILS).map((issue: FastifySchemaValidationError) => {
    const path = issue.instancePath.slice(1).replaceAll('/', '.')
    const extra = issue.params.additionalProperty ?? issue.params.missingProperty
    const field = [path, extra].filter(Boolean).join('.')
    const message =
      issue.keyword === 'additionalProperties'
        ? 'is not a known field'
        : issue.keyword === 'required'
          ? 'is required'
          : issue.keyword === 'enum'
            ? `must be one of ${(issue.params.allowedValues as unknown[]).join(', ')}`
            : (issue.message ?? 'is not valid')
    return { path: field.slice(0, LONGEST_PATH) || '(body)', message }
  })
}
