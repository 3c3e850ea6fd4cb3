import type { FastifySchema, RouteOptions } from 'fastify'
import type { AuthRule } from '../http/auth.ts'
import { authRequirementOf } from '../http/auth.ts'
import type { Origin, Origins } from '../origins/origins.ts'

/** Where the transform of a route leaves what the finished document says elsewhere. */
export const ERRORS = 'x-errors'

interface Server {
  url: string
  description?: string
  variables?: Record<string, { default: string; description: string }>
}

interface Operation {
  servers?: Server[]
  responses?: Record<string, { description?: string }>
  [ERRORS]?: { form: keyof typeof FORMS; statuses: number[] }
}

interface Document {
  paths?: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, object> }
}

/** Returns the server of a route that is not on the portal; undefined for the portal, the server of the document. */
export function serverOf(origin: Origin | undefined, origins: Origins): Server | undefined {
  if (origin === 'studio' && !origins.shared) return { url: origins.studio, description: 'The Studio.' }
  if (origin !== 'game') return
  const [name, value] = origins.byPort ? ['port', '8081'] : ['slug', 'my-game']
  return {
    url: origins.gamePattern.replace('*', `{${name}}`),
    description: 'The origin of a game.',
    variables: { [name]: { default: value, description: `The ${name} of the game.` } },
  }
}

/** Returns the errors that the common rules of all routes give a route. Its handler may have others. */
export function errorsOf(route: RouteOptions): Operation[typeof ERRORS] {
  const { config, schema = {}, url, method } = route
  const { required, kinds } = authRequirementOf((config?.auth ?? 'none') as AuthRule)
  const origin = (route.constraints as { origin?: Origin } | undefined)?.origin
  const isLimited = (origin === 'portal' || origin === 'studio') && config?.rateLimit !== false
  const changes = !['GET', 'HEAD', 'OPTIONS'].includes(String(method))
  // A token that counts for nothing is refused where something changes.
  const asksWho = required || (changes && kinds.length > 0) || isForSome(schema.security)
  const given: [status: number, isGiven: boolean][] = [
    [
      400,
      Boolean(
        schema.body || schema.takes || schema.querystring || schema.params || url.includes(':') || config?.upload,
      ),
    ],
    [401, asksWho],
    [403, asksWho || Boolean(config?.sameOrigin)],
    [404, /[:*]/.test(url)],
    [429, isLimited],
  ]
  // Only the endpoints of OAuth bring a form of their own.
  const form = route.errorHandler ? 'OAuthError' : 'Error'
  return { form, statuses: given.flatMap(([status, isGiven]) => (isGiven ? [status] : [])) }
}

/** Whether each rule of an operation's `security` names a credential. */
const isForSome = (security: FastifySchema['security'] = []): boolean =>
  security.length > 0 && security.every((rule) => Object.keys(rule).length > 0)

/** What the collector writes where a route says nothing. */
const UNDESCRIBED = 'Default Response'

const DESCRIPTIONS: Record<number, string> = {
  200: 'OK.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'Done; there is no body.',
  400: 'The request is not valid.',
  401: 'There is no valid credential.',
  403: 'The caller may not do this.',
  404: 'There is no such thing, or the caller may not see it.',
  429: 'Too many requests; `Retry-After` says when to try again.',
}

/** The forms of error bodies. */
const FORMS = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'code'],
        properties: {
          message: { type: 'string', description: 'For people.' },
          code: { type: 'string', description: 'For programs, such as `not_found`.' },
          details: {
            type: 'array',
            description: 'What is wrong with which fields.',
            items: {
              type: 'object',
              required: ['path', 'message'],
              properties: {
                path: { type: 'string', description: 'The field, such as `tags.0`.' },
                message: { type: 'string' },
              },
            },
          },
        },
      },
    },
  },
  OAuthError: {
    type: 'object',
    description: 'RFC 6749 section 5.2.',
    required: ['error'],
    properties: { error: { type: 'string' }, error_description: { type: 'string' } },
  },
}

/** Finishes the collected document: the servers of its paths, its errors, and the schemas that several operations share. */
export function finishDocument(collected: object): object {
  const document = collected as Document
  for (const item of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(item)) {
      describeAnswers(operation)
      if (operation.servers) Object.assign(item, { servers: operation.servers })
      delete operation.servers
    }
  }
  const schemas: Record<string, object> = {}
  const paths = shareSchemas(document.paths, schemas)
  return { ...document, paths, components: { ...document.components, schemas: { ...schemas, ...FORMS } } }
}

function describeAnswers(operation: Operation): void {
  const { form, statuses } = operation[ERRORS] ?? { form: 'Error', statuses: [] }
  delete operation[ERRORS]
  const schema = { $ref: `#/components/schemas/${form}` }
  const content = { 'application/json': { schema } }
  const errors = statuses.map((status) => [status, { description: DESCRIPTIONS[status], content }])
  const responses: NonNullable<Operation['responses']> = { ...Object.fromEntries(errors), ...operation.responses }
  for (const [status, response] of Object.entries(responses))
    if (response.description === UNDESCRIBED) response.description = DESCRIPTIONS[Number(status)] ?? UNDESCRIBED
  operation.responses = responses
}

/** The keywords whose values are data, and no schemas. */
const DATA = new Set(['const', 'default', 'enum', 'example', 'examples'])

/**
 * Copies a part of the document, with a reference in place of each object schema that has a name (`title`). The first of
 * a name becomes the shared one; a changed form of it, such as one with fewer fields, stays where it is.
 */
function shareSchemas(part: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(part)) return part.map((each) => shareSchemas(each, schemas))
  if (typeof part !== 'object' || part === null) return part
  const copy: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(part)) {
    // The sentence about a pattern is for refusals (core/http/forms/validation-messages.ts).
    if (key === 'advice' && typeof value === 'string') continue
    copy[key] = DATA.has(key) ? value : shareSchemas(value, schemas)
  }
  const { type, title } = copy
  if (type !== 'object' || typeof title !== 'string') return copy
  delete copy.title
  schemas[title] ??= copy
  return JSON.stringify(schemas[title]) === JSON.stringify(copy) ? { $ref: `#/components/schemas/${title}` } : copy
}
