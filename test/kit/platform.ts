import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import type { Program } from '../../core/boot/decorators.ts'
import type { LogTail } from '../../core/observe/log-tail.ts'
import type { Plugin } from '../../core/plugin.ts'
import { plugins as builtins } from '../../plugins/index.ts'
import { manualClock } from './driver-context.ts'
import { startKernel } from './kernel.ts'
import { freePort, GAME_PORTS } from './server.ts'

export interface PlatformOptions {
  /** Configuration sections that override the test defaults. */
  config?: Record<string, unknown>
  /** Additional plugins, or with `only`, plugins that replace the built-in ones. */
  plugins?: Plugin[]
  /** The names of the built-in plugins to start. Default: all */
  only?: string[]
  /**
   * Listens on a free port, which the addresses then contain: on 127.0.0.1, or on the given address of this machine.
   */
  listen?: boolean | string
  log?: Logger
  /** The program that `/download` offers. */
  program?: Program
  /** Stores the last lines of the log. */
  logTail?: LogTail
}

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: what comes over the wire has no type; tests match its shape
  body: any
  /** The body as text. */
  text: string
  headers: Record<string, string | undefined>
}

export interface RequestOptions {
  /** Headers in addition to the usual ones; undefined removes one of those. */
  headers?: Record<string, string | undefined>
  /** The host of the request. Default: the portal */
  host?: string
  /** Reads a stream of events up to the end of its first one, and then disconnects. */
  firstEvent?: boolean
}

/**
 * Hashing a password takes 45 ms by default, and a suite has thousands of players. Hashes contain their cost, so
 * nothing else changes.
 */
const CHEAP_PASSWORDS = { passwordHashing: { memory: 8, passes: 1 } }

/** Starts the whole platform, or some of its plugins, on SQLite in memory. It ends with the test. */
export async function startPlatform(t: Test, options: PlatformOptions = {}) {
  const host = typeof options.listen === 'string' ? options.listen : '127.0.0.1'
  const { games, lan } = (options.config ?? {}) as { games?: { origins?: string }; lan?: { enabled?: boolean } }
  const isByPort = games?.origins === 'port' || lan?.enabled
  const port = options.listen ? await freePort(isByPort ? GAME_PORTS : undefined) : 8080
  const clock = manualClock()
  const builtin = (name: string) => options.only?.includes(name) ?? true
  const chosen = builtins.filter(({ name }) => builtin(name))
  const app = await startKernel(t, {
    plugins: [...chosen, ...(options.plugins ?? [])],
    config: {
      // Asset previews and similar jobs would occupy a Blender beside every test. Tests of Blender turn it on.
      blender: { driver: 'none' },
      ...options.config,
      ...(builtin('oauth-idp')
        ? { auth: { ...CHEAP_PASSWORDS, ...(options.config?.auth as object | undefined) } }
        : {}),
      listen: { host, port },
      limits: { rateLimits: false, ...(options.config?.limits as object | undefined) },
    },
    clock,
    ...(options.log ? { log: options.log } : {}),
    ...(options.program ? { program: options.program } : {}),
    ...(options.logTail ? { logTail: options.logTail } : {}),
  })
  if (options.listen) {
    await app.listen({ host, port })
    await app.gamePorts.listen()
  }
  return new Platform(app, clock)
}

let people = 0

export const EVENT_STREAM = 'text/event-stream'

export class Platform {
  readonly app: FastifyInstance
  readonly clock: ReturnType<typeof manualClock>
  /** A client without cookies or a token. */
  readonly stranger: Client

  constructor(app: FastifyInstance, clock: ReturnType<typeof manualClock>) {
    this.app = app
    this.clock = clock
    this.stranger = new Client(app)
  }

  /** The portal's origin. */
  get portal(): string {
    return this.app.origins.portal
  }

  /** Returns the `Host` header of a game. */
  gameHost(slug: string): string {
    return new URL(this.app.origins.game(slug)).host
  }

  /** Returns the browser of a new player. @param browser whose cookies it shares, also those of other platforms */
  async signUp(
    fields: Partial<{ name: string; email: string; password: string }> = {},
    browser?: Client,
  ): Promise<PlayerClient> {
    const number = ++people
    const account = { name: `Player ${number}`, email: `player${number}@example.org`, password: PASSWORD, ...fields }
    const client = new PlayerClient(this.app, account, browser)
    const { status, body } = await client.post('/api/auth/sign-up', account)
    if (status !== 201) throw new Error(`Sign-up was answered with ${status}: ${JSON.stringify(body)}`)
    client.id = body.user.id
    return client
  }

  /** Returns the browser of the administrator, whose account the set-up link creates. */
  async admin(): Promise<PlayerClient> {
    const link = await this.app.identity.setupUrl()
    if (!link) throw new Error('There is an administrator already.')
    const account = { name: 'Admin', email: 'admin@example.org', password: PASSWORD }
    const client = new PlayerClient(this.app, account)
    const { status } = await client.submit(new URL(link).pathname, account)
    if (status !== 303) throw new Error(`Set-up was answered with ${status}.`)
    client.id = (await client.get('/api/auth/session')).body.user.id
    return client
  }

  /** Returns a program with an API token of a player, by default with every scope. */
  async program(player: PlayerClient, scopes?: string[]): Promise<Client> {
    const all = ['assets:read', 'assets:write', 'assets:generate', 'games:read', 'games:write']
    const { body } = await player.post('/api/tokens', {
      label: 'test',
      scopes: scopes ?? [...all, 'deployments:write', 'oauth:read', 'oauth:write', 'ai:generate'],
    })
    return new Client(this.app, body.token)
  }

  /** Creates a game for a player through the API. */
  async game(player: PlayerClient, fields: Record<string, unknown> = {}) {
    const program = await this.program(player)
    const { status, body } = await program.post('/api/games', { title: 'Pong', description: 'A game.', ...fields })
    if (status !== 201) throw new Error(`The game was answered with ${status}: ${JSON.stringify(body)}`)
    return body
  }
}

export const PASSWORD = 'correct yard battery fence'

/** A browser with cookies or a program with a token. It sends requests to the app without a socket. */
export class Client {
  readonly #jars: Map<string, Map<string, string>>
  readonly #app: FastifyInstance
  readonly #token: string | null

  constructor(app: FastifyInstance, token: string | null = null, browser?: Client) {
    this.#jars = browser ? browser.#jars : new Map()
    this.#app = app
    this.#token = token
  }

  get token(): string | null {
    return this.#token
  }

  /** Returns the stored cookies of a host by name; cookies ignore its port. Default: the portal's */
  cookiesOf(host = new URL(this.#app.origins.portal).host): Map<string, string> {
    const hostname = host.replace(/:\d+$/, '')
    const jar = this.#jars.get(hostname) ?? new Map()
    this.#jars.set(hostname, jar)
    return jar
  }

  get = (url: string, options?: RequestOptions) => this.request('GET', url, undefined, options)
  post = (url: string, body?: unknown, options?: RequestOptions) => this.request('POST', url, body, options)
  put = (url: string, body?: unknown, options?: RequestOptions) => this.request('PUT', url, body, options)
  patch = (url: string, body?: unknown, options?: RequestOptions) => this.request('PATCH', url, body, options)
  delete = (url: string, options?: RequestOptions) => this.request('DELETE', url, undefined, options)

  /** Posts a form as a browser does. */
  submit(url: string, fields: Record<string, string | string[]>, options: RequestOptions = {}): Promise<Answer> {
    const form = new URLSearchParams()
    for (const [name, values] of Object.entries(fields)) for (const value of [values].flat()) form.append(name, value)
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...options.headers }
    return this.request('POST', url, form.toString(), { ...options, headers })
  }

  async request(
    method: string,
    url: string,
    body?: unknown,
    { headers, host, firstEvent = false }: RequestOptions = {},
  ): Promise<Answer> {
    const own = new URL(this.#app.origins.portal)
    const authority = host ?? own.host
    const cookie = [...this.cookiesOf(authority)].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = {
      host: authority,
      ...(this.#token ? { authorization: `Bearer ${this.#token}` } : { origin: `${own.protocol}//${authority}` }),
      ...(cookie && !this.#token ? { cookie } : {}),
      ...headers,
    }
    const response = await this.#app.inject({
      method: method as 'GET',
      url,
      headers: Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as typeof sent,
      ...(body === undefined ? {} : { payload: body as object }),
      payloadAsStream: firstEvent,
    })
    this.#keepCookies(authority, response)
    return answerOf(response, firstEvent ? await firstEventOf(response) : response.body)
  }

  #keepCookies(host: string, response: LightMyRequestResponse): void {
    const jar = this.cookiesOf(host)
    for (const { name, value, maxAge, expires } of response.cookies as StoredCookie[]) {
      if (maxAge === 0 || (expires && expires.getTime() === 0)) jar.delete(name)
      else jar.set(name, value)
    }
  }
}

interface StoredCookie {
  name: string
  value: string
  maxAge?: number
  expires?: Date
}

/** The browser of a player with an account. */
export class PlayerClient extends Client {
  id = ''
  readonly account: { name: string; email: string; password: string }

  constructor(app: FastifyInstance, account: { name: string; email: string; password: string }, browser?: Client) {
    super(app, null, browser)
    this.account = account
  }
}

/** Reads a response to its end, or a stream of events to the end of the first one. */
async function firstEventOf(response: LightMyRequestResponse): Promise<string> {
  const isEvents = response.headers['content-type'] === EVENT_STREAM
  let text = ''
  for await (const piece of response.stream().setEncoding('utf8')) {
    text += piece
    if (isEvents && text.includes('\n\n')) break
  }
  response.raw.res.destroy()
  return text
}

function answerOf(response: LightMyRequestResponse, text: string): Answer {
  const json = /\bjson\b/.test(String(response.headers['content-type'] ?? ''))
  return {
    status: response.statusCode,
    body: json && text !== '' ? JSON.parse(text) : text,
    text,
    headers: response.headers as Record<string, string | undefined>,
  }
}
