import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onResponseHookHandler,
  preHandlerHookHandler,
  RouteOptions,
} from 'fastify'
import type { Actor } from '../data/audit.ts'
import { Forbidden, missingScopes, type PlatformError, StartupError, Unauthorized } from '../errors.ts'
import { type Author, runAs } from '../observe/author.ts'
import { type Caller, runForCaller } from '../observe/caller.ts'
import type { Origins } from '../origins/origins.ts'
import { isFromPageOf } from '../origins/same-origin.ts'

/**
 * The kinds of credential. A token of one kind is never accepted as another. `resource-token` is an OAuth access token
 * for one protected resource (RFC 8707), which is valid there only; `oauth-token` is one for the API of games.
 */
export type PrincipalKind = 'session' | 'api-token' | 'cli-token' | 'oauth-token' | 'resource-token'

/** The role of a player on this server. A moderator has fewer rights than an administrator. */
export type Role = 'player' | 'moderator' | 'admin'
/** The roles of people who administer this server. */
export type StaffRole = Exclude<Role, 'player'>

/** The data of the player that pages show. */
export interface Viewer {
  id: string
  name: string
  imageUrl: string | null
  isAdmin: boolean
  role: Role
  /** The number of messages that the player has not seen yet. */
  unread: number
}

/** The caller of a request, and its credential. */
export interface Principal {
  kind: PrincipalKind
  playerId: string
  /** The scopes of a token. A browser session and a CLI token have all rights of their player. */
  scopes: ReadonlySet<string> | 'all'
  /** The id of the session or token, for rate limits and the log. */
  credentialId: string
  /** For tokens: the label of the token, or the name of the application that holds it. */
  credentialName?: string
  /** For OAuth access tokens: the application that holds the token. */
  clientId?: string
  /** For tokens of a protected resource: the only place where they are valid. */
  resource?: string
  /** For browser sessions: the data of the player that pages show. */
  viewer?: Viewer
}

/**
 * A route's requirement for its caller. Every route declares one; no route is public by mistake.
 *
 * - `none`: credentials are ignored.
 * - `optional`: a valid session or API token identifies the caller. Any other token counts as none where nothing is
 *   changed, and is refused elsewhere: a change never has another author than its caller thinks.
 * - `session`: a browser session only.
 * - `any-token`: an API or CLI token with any scopes.
 * - `{ scope }`: an API or CLI token with that scope, and those in `also`; `accepts` names other or further kinds.
 */
export type AuthRule =
  | 'none'
  | 'optional'
  | 'session'
  | 'any-token'
  | { scope: string; also?: readonly string[]; accepts?: readonly PrincipalKind[] }
  | { accepts: readonly PrincipalKind[] }

/** Recognises one kind of credential. Plugins contribute authenticators; the kernel has none. */
export type Authenticator =
  | {
      credential: 'bearer'
      /** Whether a bearer token has the form of this kind; decided without a look-up. */
      claims(token: string): boolean
      authenticate(token: string): Promise<Principal | null> | Principal | null
    }
  | {
      credential: 'cookie'
      authenticate(request: FastifyRequest): Promise<Principal | null> | Principal | null
    }

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, or null. It is set before the body is parsed, on routes whose `auth` is not `none`. */
    principal: Principal | null
    /** Ends what the request may do for its caller; null before `actFor`. */
    endScope: (() => void) | null
  }
  interface FastifyContextConfig {
    auth?: AuthRule
    /**
     * The minimum role of the caller's session. It is checked before the body is read and on every request, so that a
     * revoked role has no effect any more. Every such route that changes something writes an audit row.
     */
    role?: StaffRole
    /** Refuses cross-origin requests although no session is needed, for example to sign-in forms. */
    sameOrigin?: boolean
    /**
     * Marks a route whose responses are pages. Errors are pages too, and unauthenticated visitors are redirected to
     * sign-in.
     */
    page?: boolean
  }
  interface FastifyInstance {
    auth: Auth
  }
}

const TOKENS: readonly PrincipalKind[] = ['api-token', 'cli-token']
/** `accepts` of a route for programs with a token and for the platform's own pages with a session. */
export const TOKENS_AND_SESSION = ['api-token', 'cli-token', 'session'] as const
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A normalised auth rule. */
export interface AuthRequirement {
  required: boolean
  kinds: readonly PrincipalKind[]
  /** The scopes that a token needs, all of them. */
  scopes: readonly string[]
}

/** Normalises a rule to the accepted kinds of principal, and whether one is required. */
export function authRequirementOf(rule: AuthRule): AuthRequirement {
  if (rule === 'none') return { required: false, kinds: [], scopes: [] }
  if (rule === 'optional') return { required: false, kinds: ['session', ...TOKENS], scopes: [] }
  if (rule === 'session') return { required: true, kinds: ['session'], scopes: [] }
  if (rule === 'any-token') return { required: true, kinds: TOKENS, scopes: [] }
  const scopes = 'scope' in rule ? [rule.scope, ...(rule.also ?? [])] : []
  return { required: true, kinds: rule.accepts ?? TOKENS, scopes }
}

const WORDS: readonly unknown[] = ['none', 'optional', 'session', 'any-token']
const KINDS: readonly PrincipalKind[] = ['session', ...TOKENS, 'oauth-token', 'resource-token']

/**
 * Validates a rule at run time, since plugins may be written in JavaScript and a malformed rule must not open a route.
 */
function isRule(rule: unknown): rule is AuthRule {
  if (typeof rule !== 'object' || rule === null) return WORDS.includes(rule)
  const { scope, accepts, also, ...rest } = rule as { scope?: unknown; accepts?: unknown; also?: unknown }
  const scoped = scope === undefined ? accepts !== undefined : typeof scope === 'string' && scope !== ''
  const kinds = accepts === undefined || (Array.isArray(accepts) && accepts.length > 0)
  const further = also === undefined || (scope !== undefined && Array.isArray(also) && also.every((one) => one !== ''))
  return (
    scoped &&
    kinds &&
    further &&
    Object.keys(rest).length === 0 &&
    ((accepts ?? []) as PrincipalKind[]).every((kind) => KINDS.includes(kind))
  )
}

/** Returns the caller of a route whose rule requires one. */
export function callerOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Unauthorized('Sign in first.')
  return request.principal
}

/** Returns the caller of a route with a role, as an actor for the audit. */
export function actorOf(request: FastifyRequest): Actor {
  const { playerId, viewer } = callerOf(request)
  return { id: playerId, role: viewer?.role === 'admin' ? 'admin' : 'moderator' }
}

/** The options of a page for administrators. */
export const adminPage = {
  config: { auth: 'session', page: true, role: 'admin' },
  constraints: { origin: 'portal' },
} as const

/** The options of a page for moderators and administrators. */
export const staffPage = {
  config: { auth: 'session', page: true, role: 'moderator' },
  constraints: { origin: 'portal' },
} as const

/** Turns the `auth` of each route into a check that runs before the body is parsed. */
export class Auth {
  readonly #bearers: Extract<Authenticator, { credential: 'bearer' }>[] = []
  readonly #cookies: Extract<Authenticator, { credential: 'cookie' }>[] = []
  readonly #origins: Origins
  /** The redirect target for unauthenticated visitors of pages. The plugin that owns sign-in sets it. */
  signInPath: string | null = null

  constructor(origins: Origins) {
    this.#origins = origins
  }

  /** Adds a kind of credential. */
  recognise(authenticator: Authenticator): void {
    if (authenticator.credential === 'bearer') this.#bearers.push(authenticator)
    else this.#cookies.push(authenticator)
  }

  /** The `onRoute` hook: validates the rule of the route, and installs the check. */
  guard(route: RouteOptions): void {
    const rule = route.config?.auth
    if (rule === undefined) {
      throw new StartupError(
        `The route ${String(route.method)} ${route.url} has no \`auth\`; say who may call it, such as \`config: { auth: 'none' }\`.`,
      )
    }
    if (!isRule(rule)) {
      throw new StartupError(
        `The route ${String(route.method)} ${route.url} has an \`auth\` that says nothing: ${JSON.stringify(rule)}; see AuthRule.`,
      )
    }
    const demand = authRequirementOf(rule)
    const guards: onRequestHookHandler[] = []
    if (demand.kinds.length) guards.push(asHook((request) => this.#identify(request, demand)))
    const role = route.config?.role
    if (role) guards.push(asHook((request) => mustHaveRole(request, role)))
    if (route.config?.sameOrigin) guards.push(asHook((request) => this.#mustBeSameOrigin(request)))
    if (guards.length) route.onRequest = [...guards, ...[route.onRequest ?? []].flat()]
    const changes = [route.method].flat().some((method) => !SAFE.has(method as string))
    if (demand.kinds.length && changes) {
      route.preHandler = [...[route.preHandler ?? []].flat(), nameAuthor]
      route.onResponse = [endScope, ...[route.onResponse ?? []].flat()]
    }
  }

  #identify(request: FastifyRequest, demand: AuthRequirement): Promise<void> | void {
    const principal = this.#principal(request, demand)
    if (principal instanceof Promise) return principal.then((found) => this.#admit(request, demand, found))
    this.#admit(request, demand, principal)
  }

  #admit(request: FastifyRequest, demand: AuthRequirement, principal: Principal | null): void {
    if (principal) {
      request.principal = principal
      if (principal.kind === 'session') this.#mustBeSameOrigin(request)
      const { scopes } = principal
      const missing = scopes === 'all' ? [] : demand.scopes.filter((scope) => !scopes.has(scope))
      if (missing.length > 0) throw missingScopes(missing)
    } else if (mustBeKnown(request, demand)) {
      throw unauthorized(request, demand)
    }
  }

  /**
   * Uses only the bearer token if there is one. A cookie counts only without it, on a route that accepts sessions.
   */
  #principal(request: FastifyRequest, demand: AuthRequirement): Promise<Principal | null> | Principal | null {
    const { authorization } = request.raw.headers
    if (!isOurs(authorization)) return demand.kinds.includes('session') ? this.#session(request) : null
    const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1]
    const authenticator = token && this.#bearers.find((bearer) => bearer.claims(token))
    const found = authenticator ? authenticator.authenticate(token) : null
    const check = (bearer: Principal | null) => accepted(bearer, request, demand)
    return found instanceof Promise ? found.then(check) : check(found)
  }

  async #session(request: FastifyRequest): Promise<Principal | null> {
    for (const cookie of this.#cookies) {
      const principal = await cookie.authenticate(request)
      if (principal) return principal
    }
    return null
  }

  /** Finds the viewer by session, if there is one, for pages that change nothing. */
  async recogniseVisitor(request: FastifyRequest): Promise<void> {
    for (const cookie of this.#cookies) request.principal ??= await cookie.authenticate(request)
  }

  /**
   * The cross-site rule of browser sessions: a change must come from the platform's own pages. A
   * sibling game is same-site, so the check requires same-origin.
   */
  #mustBeSameOrigin(request: FastifyRequest): void {
    if (SAFE.has(request.method)) return
    const own = this.#origins.of(request.raw).kind === 'studio' ? this.#origins.studio : this.#origins.portal
    if (!isFromPageOf(request.headers, own))
      throw new Forbidden('This change must come from a page of the portal itself.')
  }
}

/**
 * Whether an Authorization header is for the platform. With another scheme it is for a proxy in front, whose password a
 * browser sends with each request.
 */
export const isOurs = (authorization: string | undefined): authorization is string =>
  authorization !== undefined && !/^(?!bearer )[a-z][a-z0-9-]* /i.test(authorization)

/** Whether a request is refused without a caller. A token that counts for nothing is refused only where it matters. */
const mustBeKnown = ({ method, raw }: FastifyRequest, { required }: AuthRequirement): boolean =>
  required || (!SAFE.has(method) && isOurs(raw.headers.authorization))

/**
 * Returns the holder of a token whose kind the route accepts; null for one that is not valid or counts as none.
 *
 * @throws Forbidden
 */
function accepted(bearer: Principal | null, request: FastifyRequest, demand: AuthRequirement): Principal | null {
  const { kinds } = demand
  if (!bearer || kinds.includes(bearer.kind)) return bearer
  if (!mustBeKnown(request, demand)) return null
  throw new Forbidden(`This address takes ${namesOf(kinds)}, not ${NAMES[bearer.kind]}.`)
}

const NAMES: Record<PrincipalKind, string> = {
  'api-token': 'an API token',
  'cli-token': 'a CLI token',
  'oauth-token': 'an OAuth access token',
  'resource-token': 'an OAuth access token for this address',
  session: 'a browser session',
}

/** Names the accepted kinds of credential. A CLI token is accepted wherever an API token is, so it is left out there. */
function namesOf(kinds: readonly PrincipalKind[]): string {
  const named = (Object.keys(NAMES) as PrincipalKind[]).filter((kind) => kinds.includes(kind))
  const isSaid = named.includes('api-token')
  const names = named.filter((kind) => !isSaid || kind !== 'cli-token').map((kind) => NAMES[kind])
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

/** Returns the refusal of a request without a credential that the route accepts. Its token, if there is one, is not valid. */
export function unauthorized({ raw }: FastifyRequest, { kinds }: AuthRequirement): PlatformError {
  const takes = `This address takes ${namesOf(kinds)}`
  const takesToken = kinds.some((kind) => kind !== 'session')
  if (isOurs(raw.headers.authorization)) {
    return new Unauthorized(`This token is not valid: it may be mistyped, revoked or expired. ${takes}.`).with({
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    })
  }
  const send = `send \`Authorization: Bearer ${kinds.includes('api-token') ? 'svc_api_…' : '…'}\``
  const how = !takesToken ? 'sign in first' : kinds.includes('session') ? `${send}, or sign in` : send
  return new Unauthorized(`${takes}: ${how}.`).with({ headers: { 'www-authenticate': 'Bearer' } })
}

/** @throws Forbidden */
function mustHaveRole(request: FastifyRequest, role: StaffRole): void {
  const has = callerOf(request).viewer?.role
  if (has === 'admin' || (has === 'moderator' && role === 'moderator')) return
  throw new Forbidden(`This is for ${role === 'admin' ? '' : 'moderators and '}administrators.`)
}

/**
 * Names the author and the caller of the changes of a request, after its body was read: events of the socket have
 * another context.
 */
const nameAuthor: preHandlerHookHandler = (request, _reply, done) => {
  const { principal } = request
  if (!principal) return done()
  const role = request.routeOptions.config.role ?? null
  actFor(request, { playerId: principal.playerId, role }, () => runAs(authorOf(principal), done))
}

/** Runs the rest of a request for a caller, whom each of its transactions reads again. It follows the body. */
export function actFor(request: FastifyRequest, caller: Caller, work: () => void): void {
  request.endScope = runForCaller(caller, work)
}

/** Ends what `actFor` began. Routes that call `actFor` have it as their `onResponse`. */
export const endScope: onResponseHookHandler = (request, _reply, done) => {
  request.endScope?.()
  done()
}

/** Returns a caller as the author of changes. */
export function authorOf({ kind, playerId, credentialName }: Principal): Author {
  const by = kind === 'session' ? 'person' : kind === 'resource-token' ? 'assistant' : 'token'
  return { kind: by, playerId, name: (by !== 'person' && credentialName) || null, tool: null }
}

/** Wraps a check as a hook that continues synchronously when the check does, as most do. */
function asHook(check: (request: FastifyRequest) => Promise<void> | void): onRequestHookHandler {
  return (request, _reply, done) => {
    let pending: Promise<void> | void
    try {
      pending = check(request)
    } catch (error) {
      return done(error as Error)
    }
    if (pending) pending.then(() => done(), done)
    else done()
  }
}

/** Redirects a browser to sign-in, which leads back afterwards. */
export function redirectToSignIn(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const returnTo = request.method === 'GET' ? request.raw.url : '/'
  return reply.redirect(`${app.auth.signInPath}?returnTo=${encodeURIComponent(returnTo ?? '/')}`, 303)
}
