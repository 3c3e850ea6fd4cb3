import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../errors.ts'
import { type AuthRule, authRequirementOf, type PrincipalKind } from '../http/auth.ts'
import { cookieNamesAt } from '../origins/cookies.ts'
import type { Origin, Origins } from '../origins/origins.ts'
import { renderPage } from '../pages/index.ts'
import { type KeptDocument, keepDocument } from '../pages/kept-pages.ts'
import { ERRORS, errorsOf, finishDocument, serverOf } from './document.ts'
import { REFERENCE_PATH, renderReference, renderReferenceGroup } from './reference.ts'
import { BINARY } from './route-schema.ts'

const SCHEMES: Record<PrincipalKind, string> = {
  session: 'browserSession',
  'api-token': 'apiToken',
  'cli-token': 'apiToken',
  'oauth-token': 'oauthToken',
  'resource-token': 'oauthToken',
}

/** A way to say who calls (OpenAPI 3.1, Security Scheme Object). */
type Scheme = { description: string } & (
  | { type: 'http'; scheme: 'bearer' }
  | { type: 'apiKey'; in: 'cookie' | 'header'; name: string }
)

declare module 'fastify' {
  interface FastifyInstance {
    /** Further `securitySchemes` of the OpenAPI document, for the `security` of schemas. */
    securitySchemes: Record<string, Scheme>
  }
}

/** Collects the OpenAPI document from the routes, so it must be registered before any route. */
export async function collectOpenapi(
  app: FastifyInstance,
  { version, origins }: { version: string; origins: Origins },
): Promise<void> {
  const url = origins.portal
  const securitySchemes: Record<string, Scheme> = {
    apiToken: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API token (`svc_api_…`) or CLI token (`svc_cli_…`).',
    },
    oauthToken: { type: 'http', scheme: 'bearer', description: 'An OAuth 2.0 access token of a player.' },
    browserSession: {
      type: 'apiKey',
      in: 'cookie',
      name: cookieNamesAt(url, { http: 'session', https: '__Host-session' }).name,
      description: 'The browser session of the portal.',
    },
  }
  app.decorate('securitySchemes', securitySchemes)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Gameyard', version, license: { name: 'MIT' } },
      servers: [{ url }],
      // The collector reads it when the document is made, so plugins may add to it.
      components: { securitySchemes },
    },
    transform({ schema, url, route }) {
      const config = route.config
      const hidden = config?.page || route.method === 'HEAD' || schema?.hide
      const security = schema?.security ?? (config?.auth ? securityOf(config.auth) : [])
      const { sends, takes, ...declared } = schema ?? {}
      const body = takes ? { body: takes } : optional(schema, 'body')
      const sent = { ...declared, ...optional(schema, 'querystring'), ...body, ...answers(schema) }
      const server = serverOf((route.constraints as { origin?: Origin } | undefined)?.origin, origins)
      const described = { security, ...(server ? { servers: [server] } : {}), [ERRORS]: errorsOf(route) }
      return { schema: { ...sent, ...described, ...(hidden ? { hide: true } : {}) }, url }
    },
    transformObject: (collected) =>
      finishDocument('openapiObject' in collected ? collected.openapiObject : {}) as never,
  })
}

/**
 * Marks fields with a default as optional. Validation requires them because it fills them in, but clients may omit
 * them.
 */
function optional(schema: object | undefined, part: 'querystring' | 'body'): object {
  const described = (schema as Record<string, ObjectSchema | undefined> | undefined)?.[part]
  if (!described?.required) return {}
  const required = described.required.filter((name) => described.properties?.[name]?.default === undefined)
  return { [part]: { ...described, required } }
}

/** Joins the answers of a route that a schema checks with those that none does. */
function answers({ response, sends }: FastifySchema = {}): { response?: object } {
  if (!sends) return {}
  const unchecked = Object.entries(sends).map(([status, { what, types = [] }]) => {
    const content = types.map((type) => [type, { schema: type === 'application/json' ? { type: 'object' } : BINARY }])
    return [status, { description: what, ...(types.length > 0 ? { content: Object.fromEntries(content) } : {}) }]
  })
  return { response: { ...(response as object | undefined), ...Object.fromEntries(unchecked) } }
}

interface ObjectSchema {
  required?: string[]
  properties?: Record<string, { default?: unknown }>
}

/** Derives the `security` of an operation from the auth rule of the route: any one of the accepted kinds. */
function securityOf(rule: AuthRule): Record<string, string[]>[] {
  const demand = authRequirementOf(rule)
  const schemes = [...new Set(demand.kinds.map((kind) => SCHEMES[kind]))]
  const security = schemes.map((scheme) => ({
    [scheme]: scheme === 'browserSession' ? [] : [...demand.scopes],
  }))
  return demand.required ? security : [{}, ...security]
}

/** Serves `/openapi.json`, and its readable form at `/docs/api`. Both are generated once, at the first request. */
export function registerReference(app: FastifyInstance): void {
  const constraints = { origin: 'portal' }
  let json: Promise<KeptDocument> | undefined
  app.get(
    '/openapi.json',
    { config: { auth: 'none', cors: {} }, constraints, schema: { hide: true } },
    async (request, reply) => {
      json ??= keepDocument('application/json', JSON.stringify(app.swagger()))
      return app.browserFiles.send(request, reply, await json)
    },
  )
  app.get(
    REFERENCE_PATH,
    { config: { auth: 'optional', page: true }, constraints, schema: { hide: true } },
    async (request, reply) =>
      app.keptPages.send(request, reply, async () =>
        renderPage(reply, {
          title: 'API reference',
          current: REFERENCE_PATH,
          user: request.principal?.viewer,
          body: renderReference(app.swagger()),
        }),
      ),
  )
  app.get<{ Params: { group: string } }>(
    `${REFERENCE_PATH}/:group`,
    {
      config: { auth: 'optional', page: true },
      constraints,
      schema: { hide: true, params: Type.Object({ group: Type.String({ maxLength: 60 }) }) },
    },
    async (request, reply) => {
      const group = renderReferenceGroup(app.swagger(), request.params.group)
      if (!group) throw new NotFound('part of the reference')
      return app.keptPages.send(request, reply, async () =>
        renderPage(reply, {
          title: `${group.title} · API reference`,
          current: REFERENCE_PATH,
          user: request.principal?.viewer,
          body: group.body,
        }),
      )
    },
  )
}
