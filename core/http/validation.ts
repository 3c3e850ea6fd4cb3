import { Ajv, type AnySchema, type Options, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import { MOST_ERRORS } from './forms/validation-messages.ts'

// Bodies are typed and validated without coercion. A query string has no types, so "20" becomes 20 there. Fastify's
// default coerces and removes properties in both.
const strict = validatorsOf({ coerceTypes: false })
const lenient = validatorsOf({ coerceTypes: 'array' })

/**
 * Two compilers of one kind. `first` stops at the first error, and decides. `some` collects errors for the answer; it
 * runs only on data that `first` has refused, because it may stop inside a union of which another part is valid.
 */
function validatorsOf(coercion: Pick<Options, 'coerceTypes'>): { first: Ajv; some: Ajv } {
  const options = { useDefaults: true, removeAdditional: false, strict: false, ...coercion } as const
  const first = new Ajv({ ...options, allErrors: false })
  // `verbose` adds the schema of a field to its error, for the sentence about it.
  const some = new Ajv({ ...options, allErrors: true, verbose: true, code: { process: stopAtMost } })
  for (const ajv of [first, some]) (addFormats as unknown as (ajv: Ajv) => void)(ajv)
  return { first, some }
}

/** Makes a generated function throw its list of errors when the list is full. Ajv has no option for it. */
function stopAtMost(code: string): string {
  return code.replaceAll('errors++;', `if(++errors>=${MOST_ERRORS}){throw vErrors;}`)
}

/**
 * Compiles the schema of one part of a request at the first such request. Compiling the schemas of all routes at once
 * would take a tenth of the start time.
 */
export const validatorCompiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
  const { first, some } = httpPart === 'body' ? strict : lenient
  let compiled: ValidateFunction | undefined
  const validate: { (data: unknown): boolean; errors?: ValidateFunction['errors'] } = (data) => {
    compiled ??= first.compile(schema)
    const valid = compiled(data) as boolean
    validate.errors = valid ? null : errorsOf(some.compile(schema), data, compiled.errors)
    return valid
  }
  return validate as ReturnType<FastifySchemaCompiler<AnySchema>>
}

function errorsOf(validate: ValidateFunction, data: unknown, known: ValidateFunction['errors']) {
  try {
    return validate(data) ? known : validate.errors
  } catch (errors) {
    if (!Array.isArray(errors)) throw errors
    return errors as ValidateFunction['errors']
  }
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
