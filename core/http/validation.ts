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
import { VISIBLE_PATTERN } from '../visible-text.ts'

const base = { useDefaults: true, removeAdditional: false, allErrors: true, strict: false } as const

// Bodies are typed and validated without coercion. A query string has no types, so "20" becomes 20 there. Fastify's
// default coerces and removes properties in both. (The body limit bounds allErrors, since the schemas have no costly
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

/** The serializers of this process. They outlive an app, because tests start hundreds with the same schemas. */
const serializers = new WeakMap<object, (data: unknown) => string>()

/** Compiles the schema of a response at the first such response. Omits fields that the schema does not define. */
export const serializerCompiler: FastifySerializerCompiler<AnySchema> = ({ schema }) => {
  let serialize: ((data: unknown) => string) | undefined
  return (data) => {
    serialize ??= serializers.get(schema as object) ?? compileSerializer(schema as object)
    return serialize(data)
  }
}

function compileSerializer(schema: object): (data: unknown) => string {
  const serialize = fastJsonStringify(schema as never) as (data: unknown) => string
  serializers.set(schema, serialize)
  return serialize
}

/** Maximum number of reported errors; a list of 20,000 items can have as many. */
const MOST_DETAILS = 50
/** Maximum length of a reported path. No field has a longer name; the rest is the caller's own text. */
const LONGEST_PATH = 200

/** Formats the errors of a failed validation, with the field names of the request. */
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
            : issue.params.pattern === VISIBLE_PATTERN
              ? 'must have a visible character'
              : (issue.message ?? 'is not valid')
    return { path: field.slice(0, LONGEST_PATH) || '(body)', message }
  })
}
