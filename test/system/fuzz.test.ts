// Sends random requests to every operation of the OpenAPI document as nobody, a player and a program. Every response
// follows the contract: never a server error, always the one error shape, and the documented schema.
//
// GAMEYARD_FUZZ=300 makes 300 requests for each operation and caller; GAMEYARD_SEED repeats a run that failed;
// GAMEYARD_FUZZ_POSTGRES=1 uses another database.
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { amount } from '../kit/extent.ts'
import { registerApp } from '../kit/oauth.ts'
import { type Answer, type Client, EVENT_STREAM, PASSWORD, type Platform, startPlatform } from '../kit/platform.ts'
import { startPostgres } from '../kit/postgres.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { type Hints, type MadeUpRequest, type Operation, requestFor } from './fuzz-requests.ts'

const RUNS = Number(process.env.GAMEYARD_FUZZ ?? amount(2, 15))

/** The codes of errors, and the statuses that they stand for. */
const STATUS_OF: Record<string, number> = {
  invalid_request: 400,
  unauthorized: 401,
  missing_scope: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  misdirected_request: 421,
}

/** Endpoints whose errors are those of OAuth (RFC 6749 section 5.2); the key set is a document like the metadata. */
const isOAuthEndpoint = (path: string) => /^\/api\/oauth\/(?!apps|userinfo|jwks)/.test(path)

const ajv = new Ajv({ strict: false, allErrors: true })
;(addFormats as unknown as (ajv: Ajv) => void)(ajv)

/** What is wrong with an answer; empty when nothing is. */
function faultsOf(operation: Operation, accept: string | undefined, answer: Answer): string[] {
  const faults: string[] = []
  const { status, body, headers, text } = answer
  const must = (condition: unknown, fault: string) => condition || faults.push(fault)
  must(headers['x-request-id'], 'there is no x-request-id')
  if (status < 300) {
    const declared = operation.responses[status]
    must(declared, `${status} is not declared`)
    if (headers['content-type'] === EVENT_STREAM) {
      must(/^event: \w+\ndata: \{.*\}\n\n/.test(text), 'the stream begins with no event')
      return faults
    }
    const schema = declared?.content?.['application/json']?.schema
    if (schema && !ajv.validate(schema, body)) faults.push(`not as declared: ${ajv.errorsText()}`)
    if (status === 204) must(text === '', 'a 204 has no body')
    return faults
  }
  if (status < 400) {
    const { host } = new URL(String(headers.location), 'http://localhost:8080')
    must(/^(\w[\w-]*\.)?localhost:8080$/.test(host), `sent away to ${headers.location}`)
    return faults
  }
  must(headers['cache-control'] === 'no-store', 'the error may be stored')
  // Browsers open the sign-in routes of a game, so their errors are pages.
  const page = accept === 'text/html' && operation.path.startsWith('/auth/service/')
  if (page && /^text\/html\b/.test(headers['content-type'] ?? '')) {
    must(status < 500, 'a server error')
    must(!/node_modules|\.ts:\d|sqlite|select |insert /i.test(text), 'the page tells of the inside')
    return faults
  }
  must(/\bjson\b/.test(headers['content-type'] ?? ''), `the error is ${headers['content-type']}`)
  if (operation.method === 'head') {
    must(status < 500, 'a server error')
    must(text === '', 'an answer to HEAD has no body')
    return faults
  }
  must(!/node_modules|\.ts:\d|sqlite|select |insert /i.test(text), 'the error tells of the inside')
  must(text.length < 20_000, `the error has ${text.length} characters`)
  if (isOAuthEndpoint(operation.path)) {
    must(typeof body.error === 'string' && /^[a-z_]+$/.test(body.error), 'no OAuth error')
    must(typeof body.error_description === 'string', 'no error_description')
    must(status < 500, 'a server error')
    return faults
  }
  // The Model Context Protocol has the errors of JSON-RPC, whose codes are numbers.
  if (operation.path === '/mcp' && body?.jsonrpc === '2.0') {
    must(Number.isInteger(body.error?.code) && typeof body.error?.message === 'string', 'no JSON-RPC error')
    must(status < 500, 'a server error')
    return faults
  }
  const { error } = body ?? {}
  must(typeof error?.message === 'string' && error.message.length > 0, 'no error.message')
  must(typeof error?.code === 'string' && /^[a-z_]+$/.test(error.code), 'no error.code')
  must(error?.code !== 'internal', 'a server error')
  must(status < 500 || ((status === 501 || status === 503) && /_not_configured$/.test(error?.code)), `a ${status}`)
  if (status !== 411) must((STATUS_OF[error?.code] ?? status) === status, `${error?.code} with ${status}`)
  if (error?.code === 'unauthorized') must(headers['www-authenticate'], 'a 401 without WWW-Authenticate')
  for (const detail of error?.details ?? []) {
    must(typeof detail.path === 'string' && typeof detail.message === 'string', 'a detail without path or message')
  }
  return faults
}

/** Somebody with a game, an application, a deploy and a token, all of whose ids the requests know. */
async function settle(platform: Platform) {
  const player = await platform.signUp()
  const program = await platform.program(player)
  const {
    oauth,
    integrationPrompt: _,
    ...game
  } = await platform.game(player, { title: `Game of ${player.account.name}` })
  const application = await registerApp(platform, player)
  const file = {
    path: 'index.html',
    size: 5,
    sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  }
  const deploy = await program.post('/api/deploy', { gameId: game.id, files: [file] })
  const [token] = (await player.get('/api/tokens')).body.tokens
  return { player, program, game, oauth, application, deployId: deploy.body.deployId, file, token }
}

type Settler = Awaited<ReturnType<typeof settle>>

function hintsOf(operation: Operation, own: Settler, other: Settler): Hints {
  const things = /oauth\/apps/.test(operation.path) ? 'application' : /tokens/.test(operation.path) ? 'token' : 'game'
  const { email } = own.player.account
  return {
    id: [own[things].id, other[things].id, own.game.slug],
    gameId: [own.game.id, own.game.slug, other.game.id],
    deployId: [own.deployId, other.deployId],
    sha256: [own.file.sha256],
    path: ['index.html', 'a/b.js', '../x', '.git/config', 'auth/service/x', 'index.html/x'],
    size: [5, 0],
    url: ['https://game.example.org/', 'https://user:pass@x/', 'ftp://x/', null],
    homepageUrl: ['https://game.example.org/'],
    redirectUris: ['https://game.example.org/callback', 'http://localhost/x', 'https://x/#y'],
    redirect_uri: ['https://game.example/auth/callback', own.oauth.redirectUri],
    client_id: [own.application.clientId, own.oauth.clientId],
    client_secret: [own.application.clientSecret, own.oauth.clientSecret],
    grant_type: ['authorization_code', 'refresh_token'],
    code_verifier: ['v'.repeat(43)],
    email: [email, other.player.account.email, 'new@example.org'],
    password: [PASSWORD, 'short', 'x'.repeat(257)],
    expiresInDays: [30, null],
    returnTo: ['/', '//evil.example', 'https://evil.example', '/a?b#c'],
    sort: ['popular', 'new'],
  }
}

t.setTimeout(timeLimit(480 + RUNS * 10))
t.test(`whatever is asked, the answer keeps to the contract (seed ${SEED})`, async (t) => {
  const platform = await startPlatform(t, { config: await database() })
  const { body } = await platform.stranger.get('/openapi.json')
  const document = resolved(body, body.components.schemas) as { paths: object }
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'servers')
        .map(([method, operation]) => ({ ...operation, method, path })),
  )
  t.ok(operations.length > 30, `there are ${operations.length} operations`)
  const other = await settle(platform)
  const before = await belongings(other)
  // Whoever only reads can ask about the same things again.
  const reader = await settle(platform)
  for (const operation of operations)
    await t.test(`${operation.method.toUpperCase()} ${operation.path}`, async (t) => {
      await fuzz(t, platform, operation, operation.method === 'get' ? reader : await settle(platform), other)
    })
  t.same(await belongings(other), before, "nobody else's things have changed")
  t.match(await platform.stranger.get('/readyz'), { status: 200 })
})

/** Returns a part of the document with the schemas in place of the references to them. */
function resolved(part: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(part)) return part.map((each) => resolved(each, schemas))
  if (typeof part !== 'object' || part === null) return part
  const { $ref } = part as { $ref?: unknown }
  if (typeof $ref === 'string') return resolved(schemas[$ref.split('/').at(-1) ?? ''], schemas)
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, resolved(value, schemas)]))
}

/** SQLite in memory, or, with GAMEYARD_FUZZ_POSTGRES=1, a PostgreSQL of this test. */
async function database(): Promise<Record<string, unknown>> {
  if (!process.env.GAMEYARD_FUZZ_POSTGRES) return {}
  const postgres = await startPostgres()
  return { secret: PASSWORD.repeat(2), database: { driver: 'postgres', url: await postgres.database() } }
}

async function belongings({ program, game, application, deployId }: Settler) {
  const urls = [`/api/games/${game.id}`, `/api/oauth/apps/${application.id}`, `/api/deploy/${deployId}`]
  const answers = await Promise.all(urls.map((url) => program.get(url)))
  return answers.map(({ status, body }) => ({ status, ...body, lastUsedAt: null }))
}

async function fuzz(t: Test, platform: Platform, operation: Operation, own: Settler, other: Settler): Promise<void> {
  const url = operation.path.replace(/\{(\w+)\}/g, ':$1')
  const route = platform.app.routeTable.entries.find(
    (entry) => entry.url === url && entry.method === operation.method.toUpperCase(),
  )
  const host = route?.origin === 'game' ? { host: platform.gameHost(own.game.slug) } : {}
  const callers: [string, Client][] = [
    ['nobody', platform.stranger],
    ['a player', own.player],
    ['a program', own.program],
  ]
  const ask = (client: Client, { url, headers, body }: MadeUpRequest) =>
    client.request(operation.method.toUpperCase(), url, body, { headers, ...host, firstEvent: true })
  const reached = new Set<number>()
  for (const [name, client] of callers) {
    const property = fc.asyncProperty(requestFor(operation, hintsOf(operation, own, other)), async (request) => {
      const answer = await ask(client, request)
      reached.add(answer.status)
      const faults = faultsOf(operation, request.headers.accept, answer)
      if (faults.length > 0) throw new Error(`${answer.status} ${faults.join('; ')}: ${answer.text.slice(0, 400)}`)
    })
    const outcome = await fc.check(property, { numRuns: RUNS, seed: SEED, interruptAfterTimeLimit: 120_000 })
    t.notOk(outcome.failed, `${name}: ${[...reached].sort().join(' ')}`, outcome.failed ? reportOf(outcome) : {})
  }
}

const reportOf = (outcome: fc.RunDetails<[MadeUpRequest]>) => ({
  repeat: `GAMEYARD_FUZZ=${RUNS} GAMEYARD_SEED=${outcome.seed}`,
  request: JSON.stringify(outcome.counterexample?.[0])?.slice(0, 1500),
  fault: String((outcome as { errorInstance?: unknown }).errorInstance).slice(0, 1500),
})
