import { type ErrorDetail, InvalidRequest } from '../../core/errors.ts'
import { sentenceOf, validationDetails } from '../../core/http/forms/validation-messages.ts'
import type { RouteEntry, RouteTable } from '../../core/http/routes.ts'
import { serializerCompiler, validatorCompiler } from '../../core/http/validation.ts'
import { listedSchema } from './listed-schema.ts'
import type { Arguments, Tool } from './tool.ts'
import { aiTools } from './tools/ai.ts'
import { assetTools } from './tools/assets.ts'
import { blenderTools } from './tools/blender.ts'
import { deployTools } from './tools/deploys.ts'
import { gameTools } from './tools/games.ts'

/** Every tool, in the order in which assistants see them. Registration, the guide and `llms.txt` read this list. */
const TOOLS: readonly Tool[] = [...gameTools, ...deployTools, ...assetTools, ...blenderTools, ...aiTools]

/** A tool with what its route declares. */
export interface RegisteredTool extends Tool {
  scope?: string
  /** JSON Schema of the arguments as the list of tools shows it. Calls are validated by a stricter one. */
  schema: ObjectSchema
  idempotent: boolean
  perMinute: number | null
  /** @throws InvalidRequest naming the argument */
  check(args: unknown): Arguments
  /** Converts an answer to JSON, with the fields that the route's answer has. */
  serialize(answer: unknown): string
}

interface ObjectSchema {
  type: 'object'
  properties: Record<string, { default?: unknown }>
  required: string[]
  additionalProperties: false
}

const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  pattern: '^[\\x21-\\x7e]+$',
  advice: 'Use letters, digits and signs of ASCII, without spaces.',
  description: 'Your own word for this call: a repeated call with it returns the first answer, for 24 hours.',
}

/** Resolves the tools whose plugins are on. @param routes complete */
export function registeredTools(routes: Pick<RouteTable, 'find'>): Map<string, RegisteredTool> {
  const known = TOOLS.flatMap((tool) => {
    const route = routes.find(tool.route)
    return route ? [[tool.name, registered(tool, route, routes)] as const] : []
  })
  return new Map(known)
}

function registered(tool: Tool, route: RouteEntry, routes: Pick<RouteTable, 'find'>): RegisteredTool {
  const scope = tool.scope ?? scopeOf(route)
  // A preview or a rollback by name is not repeated by accident, and reading needs no key.
  const idempotent = route.idempotent && tool.effect !== 'reads'
  const schema = schemaOf(tool, route, idempotent)
  const validate = validatorCompiler({ schema, httpPart: 'body', method: '', url: '' })
  const answers = tool.answers === 'any' ? null : routes.find(tool.answers ?? tool.route)
  const response = answers && responseOf(answers)
  const serialize = response
    ? serializerCompiler({ schema: response, method: '', url: '', httpStatus: '200' })
    : (answer: unknown) => JSON.stringify(answer)
  return {
    ...tool,
    ...(scope ? { scope } : {}),
    schema: listedSchema(schema) as ObjectSchema,
    idempotent,
    perMinute: route.perMinute,
    serialize,
    check(args) {
      const given = args ?? {}
      if (validate(given)) return given
      const details = validationDetails({ validation: validate.errors } as never)
      const [first] = details as [ErrorDetail]
      throw new InvalidRequest(`The arguments are not valid: ${sentenceOf(first)}`).with({ details })
    },
  }
}

/** Joins the parameters, query and body of a route into the arguments of its tool. */
function schemaOf(tool: Tool, { schema }: RouteEntry, idempotent: boolean): ObjectSchema {
  const parts = tool.input
    ? [objectOf(tool.input)]
    : ([schema.params, schema.querystring, schema.body].filter(Boolean) as Partial<ObjectSchema>[])
  const all = [...parts, objectOf(tool.also ?? {})]
  const properties: ObjectSchema['properties'] = Object.assign({}, ...all.map((part) => part.properties))
  for (const name of tool.without ?? []) delete properties[name]
  const required = all
    .flatMap((part) => part.required ?? [])
    // Validation fills in a default, so the argument may be left out.
    .filter((name) => properties[name] && properties[name].default === undefined)
  if (idempotent) Object.assign(properties, { idempotencyKey: IDEMPOTENCY_KEY })
  return { type: 'object', properties, required, additionalProperties: false }
}

/** TypeBox marks optional properties with a key of its own. */
function objectOf(properties: object): Partial<ObjectSchema> {
  const entries = Object.entries(properties)
  return {
    properties: Object.fromEntries(entries),
    required: entries.filter(([, schema]) => !('~optional' in schema)).map(([name]) => name),
  }
}

function scopeOf({ auth }: RouteEntry): string | undefined {
  return typeof auth === 'object' && 'scope' in auth ? auth.scope : undefined
}

/** Returns the schema of a route's success. */
function responseOf({ schema }: RouteEntry): object | null {
  const responses = (schema.response ?? {}) as Record<string, object>
  return responses['200'] ?? responses['201'] ?? responses['202'] ?? null
}
