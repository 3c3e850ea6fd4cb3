import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { StartupError } from '../errors.ts'
import type { Origin } from '../origins/origins.ts'
import { type AuthRule, authRequirementOf, type PrincipalKind, type StaffRole } from './auth.ts'
import type { CorsRule } from './cors.ts'
import type { UploadRule } from './uploads.ts'

/** A group of routes. The schemas type the parameters, query and body. */
export type Routes = FastifyPluginAsyncTypebox

/** One entry of the route table: the location of a route and its accepted callers. */
export interface RouteEntry {
  method: string
  url: string
  origin: Origin
  auth: AuthRule
  /** The accepted kinds of principal; empty for `none`. */
  accepts: readonly PrincipalKind[]
  page: boolean
  /** The minimum role of the caller; null where none is needed. */
  role: StaffRole | null
  /** The rule of a long body; null for a short body, which core/http/request-rules.ts limits. */
  upload: UploadRule | null
  /** The limit of its own for a body, in bytes; null where that of the parser counts (core/http/limits/body-limits.ts). */
  bodyLimit: number | null
  /** Whether it honours `Idempotency-Key`. */
  idempotent: boolean
  /** The limit of its own beside the general one, in requests a minute of one player; null for none. */
  perMinute: number | null
  schema: FastifySchema
  /** The rule for scripts of other origins; null where only the own origin reads it. */
  cors: CorsRule | null
}

declare module 'fastify' {
  interface FastifyInstance {
    routeTable: RouteTable
  }
  interface FastifyContextConfig {
    /** Selects the existing addresses of a wildcard route. All others are 404 for every method. */
    serves?: (path: string) => boolean
  }
}

/** Records every declared route, refuses routes that break the contract, and lists the methods of a path. */
export class RouteTable {
  readonly entries: RouteEntry[] = []
  readonly #shared: boolean
  readonly #declared: DeclaredPath[] = []
  /** Every method and path of an origin, without the names of its parameters. */
  readonly #taken = new Set<string>()
  /** Built at the first question after a declaration, since most starts declare much and ask nothing. */
  #routers: Map<Origin, Router> | null = null

  /** @param shared whether portal and Studio share an origin, where their paths must not collide */
  constructor(shared: boolean) {
    this.#shared = shared
  }

  /** The `onRoute` hook. @throws StartupError naming the route and the fix */
  add(route: RouteOptions): void {
    const methods = [route.method].flat() as string[]
    const origin = (route.constraints as { origin?: Origin } | undefined)?.origin
    const named = `The route ${methods.join(',')} ${route.url}`
    if (!origin) {
      throw new StartupError(
        `${named} has no origin; say where it lives, such as \`constraints: { origin: 'portal' }\`.`,
      )
    }
    const auth = route.config?.auth as AuthRule
    const table = this.#shared && origin === 'studio' ? 'portal' : origin
    for (const method of methods) {
      const place = `${table} ${method} ${route.url.replaceAll(PARAMETER, ':')}`
      const isTaken = this.#taken.has(place)
      if (isTaken && method === 'HEAD') continue
      if (isTaken) {
        throw new StartupError(`${named} is declared twice at one origin (portal and Studio share theirs); rename one.`)
      }
      this.#taken.add(place)
      this.#declared.push({ table, method: method as HTTPMethod, url: route.url, route })
      this.#routers = null
      const { kinds } = authRequirementOf(auth)
      const { page = false, upload = null, role = null } = route.config ?? {}
      const { idempotent, rateLimit } = route.config ?? {}
      this.entries.push({
        method,
        url: route.url,
        origin,
        auth,
        accepts: kinds,
        page,
        role,
        upload,
        bodyLimit: route.bodyLimit ?? null,
        idempotent: Boolean(idempotent),
        perMinute: (rateLimit && (rateLimit as { max?: number }).max) || null,
        schema: route.schema ?? {},
        // Hooks of the scope that the route is in may add it later.
        get cors() {
          return route.config?.cors ?? null
        },
      })
    }
  }

  /** Finds a route by its declaration, such as `GET /api/games/:id`; undefined when its plugin is off. */
  find(declaration: string): RouteEntry | undefined {
    return this.entries.find(({ method, url }) => `${method} ${url}` === declaration)
  }

  /** Lists the methods of a path at an origin; empty when the path does not exist. */
  methodsAt(origin: Origin, path: string): string[] {
    return METHODS.filter((method) => this.#routeAt(origin, method, path))
  }

  /** Returns the rule of a path for scripts of other origins, for a method that it does not have. */
  corsAt(origin: Origin, path: string): CorsRule | null {
    for (const method of METHODS) {
      const cors = this.#routeAt(origin, method, path)?.config?.cors
      if (cors) return cors
    }
    return null
  }

  #routeAt(origin: Origin, method: HTTPMethod, path: string): RouteOptions | null {
    this.#routers ??= routersOf(this.#declared)
    for (const table of [origin, 'any'] as const) {
      const found = this.#routers.get(table)?.find(method, path)?.store as RouteOptions | undefined
      if (found && found.config?.serves?.(path) !== false) return found
    }
    return null
  }
}

type Router = ReturnType<typeof findMyWay>

interface DeclaredPath {
  table: Origin
  method: HTTPMethod
  url: string
  route: RouteOptions
}

/** Matches the name of a parameter: paths that differ in nothing else are the same path. */
const PARAMETER = /:\w+/g

function routersOf(declared: DeclaredPath[]): Map<Origin, Router> {
  const routers = new Map<Origin, Router>()
  for (const { table, method, url, route } of declared) {
    const router = routers.get(table) ?? findMyWay()
    routers.set(table, router)
    router.on(method, url, () => {}, route)
  }
  return routers
}

const METHODS: HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The schemas without unknown fields, by the declared ones. Ajv compiles each schema object once a process. */
const closedSchemas = new WeakMap<object, object>()

/** Makes the body schema refuse unknown fields, unless it says otherwise. */
export function refuseUnknownFields(route: RouteOptions): void {
  const body = route.schema?.body as { type?: string; additionalProperties?: unknown } | undefined
  if (body?.type === 'object' && body.additionalProperties === undefined) {
    const closed = closedSchemas.get(body) ?? { ...body, additionalProperties: false }
    closedSchemas.set(body, closed)
    route.schema = { ...route.schema, body: closed }
  }
}

/** Installs the contract of routes. The table comes first, so that its error messages take precedence. */
export function installRouteContract(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    app.auth.guard(route)
    app.routeTable.add(route)
    refuseUnknownFields(route)
  })
}
