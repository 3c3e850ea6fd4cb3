import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { StartupError } from '../errors.ts'
import type { Origin } from '../origins/origins.ts'
import { type AuthRule, authRequirementOf, type PrincipalKind, type StaffRole } from './auth.ts'
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
  readonly #paths = new Map<Origin, ReturnType<typeof findMyWay>>()

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
    const router = this.#paths.get(table) ?? findMyWay()
    this.#paths.set(table, router)
    for (const method of methods) {
      if (method === 'HEAD' && router.findRoute('HEAD', route.url)) continue
      if (router.findRoute(method as HTTPMethod, route.url)) {
        throw new StartupError(`${named} is declared twice at one origin (portal and Studio share theirs); rename one.`)
      }
      router.on(method as HTTPMethod, route.url, () => {}, { serves: route.config?.serves })
      const { kinds } = authRequirementOf(auth)
      const { page = false, upload = null, role = null } = route.config ?? {}
      this.entries.push({ method, url: route.url, origin, auth, accepts: kinds, page, role, upload })
    }
  }

  /** Lists the methods of a path at an origin; empty when the path does not exist. */
  methodsAt(origin: Origin, path: string): string[] {
    return METHODS.filter((method) =>
      [origin, 'any' as const].some((table) => {
        const found = this.#paths.get(table)?.find(method, path)
        return found != null && (found.store as Serves).serves?.(path) !== false
      }),
    )
  }
}

type Serves = Pick<FastifyContextConfig, 'serves'>

const METHODS: HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Makes the body schema refuse unknown fields, unless it says otherwise (contracts, section 1). */
export function refuseUnknownFields(route: RouteOptions): void {
  const body = route.schema?.body as { type?: string; additionalProperties?: unknown } | undefined
  if (body?.type === 'object' && body.additionalProperties === undefined) {
    route.schema = { ...route.schema, body: { ...body, additionalProperties: false } }
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
