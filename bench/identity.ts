/**
 * Measures sign-in under load: code exchanges per second at the token endpoint, compared with oidc-provider with an
 * in-memory store, and `GET /api/cli/whoami`, compared with a Fastify route that answers the same JSON: bare, and with
 * well-known plugins for the same duties (a log line, security headers, a bearer token, a histogram).
 *
 *     npx node bench/identity.ts [rounds]
 *
 * Each server is a separate process. This process creates the load over 32 connections and never sleeps: waking it for
 * each response would cost the server CPU time, and more so the faster the server is. Our server stores everything in
 * SQLite on disk with synchronous=full.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import bearerAuth from '@fastify/bearer-auth'
import helmet from '@fastify/helmet'
import Fastify, { LogController } from 'fastify'
import Provider from 'oidc-provider'
import { Histogram } from 'prom-client'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { measureRate } from './closed-loop.ts'
import { ACCOUNT, createPlatform } from './platform.ts'

const CONNECTIONS = 32
const EXCHANGES = 8000
const QUESTIONS = 20_000
/** V8 compiles a large program later than a small one. */
const EXCHANGES_WARM_UP = 10_000
const QUESTIONS_WARM_UP = 30_000
const REDIRECT_URI = 'https://game.example/callback'

/** The message of a server process: its port, and the credentials for its clients. */
interface Ready {
  port: number
  clientId?: string
  clientSecret?: string
  token?: string
}

async function run(rounds: number): Promise<void> {
  const servers = await Promise.all(['gameyard', 'oidc-provider', 'bare', 'plugins'].map(start))
  const [gameyard, provider, bare, plugged] = servers as [Server, Server, Server, Server]
  const results: Record<string, number[]> = { tokens: [], peer: [], whoami: [], bare: [], plugins: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      results.tokens?.push(await exchanges(gameyard, '/api/oauth/token', round === 0))
      results.peer?.push(await exchanges(provider, '/token', round === 0))
      results.whoami?.push(await questions(gameyard, round === 0))
      results.plugins?.push(await questions(plugged, round === 0))
      results.bare?.push(await questions(bare, round === 0))
    }
  } finally {
    for (const { child } of servers) child.kill()
  }
  const medians = Object.values(results).map(median)
  const [tokens, peer, whoami, plain, equipped] = medians
  const line = (name: string, value: number | undefined) =>
    process.stdout.write(`${name.padEnd(48)} ${Math.round(value ?? 0)}/s\n`)
  line('POST /api/oauth/token, SQLite on disk, durable', tokens)
  line('oidc-provider, in memory', peer)
  line('GET /api/cli/whoami, scoped token', whoami)
  line('Fastify route with plugins for the same duties', equipped)
  line('bare Fastify route', plain)
  process.stdout.write(
    `ratios: tokens ${ratio(tokens, peer)}, whoami ${ratio(whoami, equipped)} of plugins, ${ratio(whoami, plain)} of bare\n`,
  )
}

const ratio = (a = 0, b = 1): string => (a / b).toFixed(2)
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

interface Server extends Ready {
  child: ChildProcess
}

async function start(name: string): Promise<Server> {
  // Our server gets the same Node flags as with `gameyard serve`.
  const execArgv = name === 'gameyard' ? NODE_FLAGS : []
  const child = fork(import.meta.filename, [name], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [ready] = (await once(child, 'message')) as [Ready]
  return { child, ...ready }
}

/** @returns exchanges per second */
async function exchanges(server: Server, path: string, first: boolean): Promise<number> {
  const perform = async (count: number) => {
    server.child.send(count)
    const [codes] = (await once(server.child, 'message')) as [string[]]
    const { clientId = '', clientSecret = '' } = server
    return rateOf(
      server.port,
      codes.map((code) => {
        const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
        const body = new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }).toString()
        return (
          `POST ${path} HTTP/1.1\r\nhost: localhost:${server.port}\r\n` +
          `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`
        )
      }),
    )
  }
  if (first) await perform(EXCHANGES_WARM_UP)
  return perform(EXCHANGES)
}

/** @returns responses per second */
async function questions(server: Server, first: boolean): Promise<number> {
  const authorization = server.token ? `authorization: Bearer ${server.token}\r\n` : ''
  const request = `GET /api/cli/whoami HTTP/1.1\r\nhost: localhost:${server.port}\r\n${authorization}\r\n`
  if (first) await rateOf(server.port, Array(QUESTIONS_WARM_UP).fill(request))
  return rateOf(server.port, Array(QUESTIONS).fill(request))
}

const rateOf = (port: number, requests: string[]): Promise<number> =>
  measureRate(port, {
    connections: CONNECTIONS,
    requests: requests.length,
    request: (number) => requests[number] as string,
  })

async function serveGameyard(): Promise<void> {
  const { app, port } = await createPlatform()
  await app.listen({ host: '127.0.0.1', port })
  const { identity, tokens, db } = app
  const { id: playerId } = await identity.players.create(ACCOUNT)
  const application = { name: 'Game', homepageUrl: null, gameId: null, redirectUris: [REDIRECT_URI] }
  const { clientId, clientSecret } = await identity.apps.create(db.em(), { ...application, ownerId: playerId })
  const { token } = await tokens.create({ playerId, label: 'bench', scopes: ['games:read'] })
  const consentId = await identity.consents.remember(playerId, clientId, ['profile'])
  process.on('message', async (count: number) => {
    const binding = { clientId, playerId, consentId, redirectUri: REDIRECT_URI, scope: ['profile'] }
    const rest = { codeChallenge: null, nonce: null, resource: null, sessionId: null, authTime: new Date() }
    process.send?.(
      await Promise.all(Array.from({ length: count }, () => identity.codes.issue({ ...binding, ...rest }))),
    )
  })
  process.send?.({ port, clientId, clientSecret, token })
}

/** oidc-provider's own in-memory adapter keeps only the latest thousand entries; this one keeps all. */
class MemoryAdapter {
  static readonly #all = new Map<string, Record<string, unknown>>()
  readonly #kind: string

  constructor(kind: string) {
    this.#kind = kind
  }

  async upsert(id: string, payload: Record<string, unknown>): Promise<void> {
    MemoryAdapter.#all.set(`${this.#kind}/${id}`, payload)
  }

  async find(id: string): Promise<Record<string, unknown> | undefined> {
    return MemoryAdapter.#all.get(`${this.#kind}/${id}`)
  }

  async consume(id: string): Promise<void> {
    const payload = MemoryAdapter.#all.get(`${this.#kind}/${id}`)
    if (payload) payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    MemoryAdapter.#all.delete(`${this.#kind}/${id}`)
  }

  async revokeByGrantId(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
}

async function serveOidcProvider(): Promise<void> {
  const client = { client_id: 'game', client_secret: 'a-secret-of-the-game', redirect_uris: [REDIRECT_URI] }
  const provider = new Provider('http://localhost', {
    clients: [{ ...client, token_endpoint_auth_method: 'client_secret_post' }],
    adapter: MemoryAdapter,
    pkce: { required: () => false },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ sub }) }),
  })
  const server = provider.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.on('message', async (count: number) => {
    const loaded = await provider.Client.find('game')
    const codes = Array.from({ length: count }, async () => {
      const grant = new provider.Grant({ accountId: 'ada', clientId: 'game' })
      grant.addOIDCScope('openid')
      const code = new provider.AuthorizationCode({
        accountId: 'ada',
        client: loaded as NonNullable<typeof loaded>,
        grantId: await grant.save(),
        redirectUri: REDIRECT_URI,
        scope: 'openid',
        gty: 'authorization_code',
      })
      return code.save()
    })
    process.send?.(await Promise.all(codes))
  })
  const { port } = server.address() as { port: number }
  process.send?.({ port, clientId: client.client_id, clientSecret: client.client_secret })
}

const ANSWER = {
  user: { id: 'ply_01KAHJ0000000000000000000', name: 'Ada', email: 'ada@example.org' },
  tokenLabel: 'x',
}

async function serveBare(): Promise<void> {
  const app = Fastify()
  app.get('/api/cli/whoami', async () => ANSWER)
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.send?.({ port: (app.server.address() as { port: number }).port })
}

/** The route with the duties of ours, by plugins: one log line, headers, a token looked up by its digest, metrics. */
async function servePlugins(): Promise<void> {
  const token = 'gy_plugins_0123456789abcdefghijklmnopqrstuvwxyz'
  const players = new Map([[hash('sha256', token), ANSWER]])
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests.',
    labelNames: ['method', 'route', 'status'],
  })
  const app = Fastify({ logger: true, logController: new LogController({ disableRequestLogging: true }) })
  await app.register(helmet)
  await app.register(bearerAuth, {
    keys: new Set([token]),
    auth: (key, request) => {
      const player = players.get(hash('sha256', key))
      if (player) request.player = player
      return player !== undefined
    },
  })
  app.addHook('onResponse', async (request, reply) => {
    const { method, url } = request
    durations.observe(
      { method, route: request.routeOptions.url ?? '', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
    request.log.info({ method, url, status: reply.statusCode, ms: reply.elapsedTime }, 'request')
  })
  const text = { type: 'string' } as const
  const user = { type: 'object', properties: { id: text, name: text, email: text } } as const
  const response = { 200: { type: 'object', properties: { user, tokenLabel: text } } }
  app.get('/api/cli/whoami', { schema: { response } }, async (request) => request.player)
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.send?.({ port: (app.server.address() as { port: number }).port, token })
}

declare module 'fastify' {
  interface FastifyRequest {
    player: typeof ANSWER
  }
}

const role = process.argv[2]
if (role === 'gameyard') await serveGameyard()
else if (role === 'oidc-provider') await serveOidcProvider()
else if (role === 'bare') await serveBare()
else if (role === 'plugins') await servePlugins()
else await run(Number(role ?? 3))
