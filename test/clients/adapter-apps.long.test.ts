// Tests games with their own servers, as developers build them: Express and Next.js from packed packages, at their own
// address and on the portal's play page, on http-localhost and on https.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { type FreshProject, freshProject, packClient, plainEnvironment } from '../kit/packages.ts'
import { type Platform, type PlayerClient, startPlatform } from '../kit/platform.ts'
import { freePort } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy, type TlsProxy } from '../kit/tls-proxy.ts'
import { until } from '../kit/until.ts'
import { endWithParent } from '../kit/watchdog.ts'

const EXPRESS = `
import express from 'express'
import { createAuth } from '@gameyard/adapter/express'

const app = express()
const auth = createAuth()
app.disable('x-powered-by')
app.use(auth)
app.get('/', async (request, response) => {
  const session = await auth.getSession(request)
  const who = session.signedIn ? 'Hello ' + session.user.name : 'Nobody'
  response.send('<!doctype html><html lang="en"><title>Relay</title><main><h1>Relay</h1><p id="who">' + who + '</p>' +
    '<a href="/auth/service/start?returnTo=/">Sign in</a></main></html>')
})
app.get('/api/me', async (request, response) => response.json(await auth.getSession(request)))
app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
`

const NEXT = {
  'lib/auth.js': `
import { createAuth } from '@gameyard/adapter/next'
export const auth = createAuth()
`,
  'app/auth/service/[...route]/route.js': `
import { auth } from '../../../../lib/auth.js'
export const { GET, POST } = auth
`,
  'app/api/me/route.js': `
import { auth } from '../../../lib/auth.js'
export const GET = async (request) => Response.json(await auth.getSession(request))
`,
  'app/layout.js': `
export const metadata = { title: 'Relay' }
export default ({ children }) => <html lang="en"><body>{children}</body></html>
`,
  'app/page.js': `
import { auth } from '../lib/auth.js'
export default async function Page() {
  const session = await auth.getSession()
  return <main><h1>Relay</h1><p id="who">{session.signedIn ? 'Hello ' + session.user.name : 'Nobody'}</p>
    <a href="/auth/service/start?returnTo=/">Sign in</a></main>
}
`,
}

/** A game that is built once and started often. */
interface App {
  project: FreshProject
  /** The arguments of Node. The game then serves on the port in the environment. */
  command: (port: number) => string[]
  ready: RegExp
}

function buildExpress(t: Test): App {
  const project = freshProject(t, [packClient(t, 'adapter')], ['express'])
  project.write({ 'server.js': EXPRESS })
  return { project, command: () => ['server.js'], ready: /^ready$/m }
}

function buildNext(t: Test, files: Record<string, string> = NEXT): App {
  const project = freshProject(t, [packClient(t, 'adapter')], ['next', 'react', 'react-dom'])
  project.write(files)
  const next = join(project.folder, 'node_modules/next/dist/bin/next')
  const env = environment({ NEXT_TELEMETRY_DISABLED: '1' })
  execFileSync(process.execPath, [next, 'build'], { cwd: project.folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const command = (port: number) => [next, 'start', '--hostname', '127.0.0.1', '--port', String(port)]
  return { project, command, ready: /Ready in/ }
}

/** Contains no secrets, because `next build` has none either. */
const environment = (own: Record<string, string>): NodeJS.ProcessEnv => ({
  ...plainEnvironment(),
  NODE_ENV: 'production',
  ...own,
})

/** @returns what the game has printed so far */
async function start(t: Test, app: App, port: number, own: Record<string, string>): Promise<() => string> {
  const child: ChildProcess = spawn(process.execPath, app.command(port), {
    cwd: app.project.folder,
    env: environment({ PORT: String(port), NEXT_TELEMETRY_DISABLED: '1', ...own }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithParent(child)
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  await until(() => {
    if (child.exitCode !== null) throw new Error(`The game did not start:\n${output}`)
    return app.ready.test(output)
  })
  return () => output
}

/** Registers the game, and starts its server and the platform. */
async function playground(t: Test, app: App, scheme: 'http' | 'https') {
  const port = await freePort()
  const secure = scheme === 'https'
  const url = secure ? 'https://relay.arcade.test' : `http://relay.localhost:${port}`
  const platform = await startPlatform(t, { listen: true, ...(secure ? { config: BEHIND_PROXY } : {}) })
  const server = platform.app.server.address() as { port: number }
  const proxy = secure ? await startTlsProxy(t, server, { 'relay.arcade.test': port }) : null
  if (secure && !proxy) return null
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'Relay', url, settings: { embedded: true } })
  await start(t, app, port, {
    SERVICE_CLIENT_ID: game.oauth.clientId,
    SERVICE_CLIENT_SECRET: game.oauth.clientSecret,
    SERVICE_REDIRECT_URI: game.oauth.redirectUri,
    SERVICE_SESSION_SECRET: 'a long secret that only this game knows',
    SERVICE_BASE_URL: platform.portal,
    ...proxy?.nodeEnvironment,
  })
  return { platform, game, url, flags: (proxy as TlsProxy | null)?.chromiumFlags ?? [] }
}

const fetchIn = (page: Page | Frame, path: string, method = 'GET') =>
  page.evaluate(`fetch('${path}', { method: '${method}' }).then((answer) => answer.json())`)

async function signInOnPage(page: Page, { account }: PlayerClient): Promise<void> {
  await page.locator('input[name=email]').fill(account.email)
  await page.locator('input[name=password]').fill(account.password)
  await page.locator('input[name=password]').press('Enter')
}

async function signInAtPortal(context: BrowserContext, platform: Platform, player: PlayerClient): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${platform.portal}/sign-in`)
  await Promise.all([page.waitForURL(`${platform.portal}/`), signInOnPage(page, player)])
  await page.close()
}

/** Tests sign-in, session and sign-out at the game's own address; then the play page, signed in without a click. */
async function play(t: Test, app: App, scheme: 'http' | 'https', open: (flags: string[]) => Promise<Browser | null>) {
  const ground = await playground(t, app, scheme)
  const browser = ground && (await open(ground.flags))
  if (!ground || !browser) return
  const { platform, game, url } = ground
  const ada = await platform.signUp({ name: 'Ada' })

  const own = await openPage(browser)
  const greeting = own.page.locator('#who')
  await own.page.goto(url)
  t.equal(await greeting.textContent(), 'Nobody')
  t.same(await fetchIn(own.page, '/auth/service/session'), { signedIn: false })
  await own.page.getByRole('link', { name: 'Sign in' }).click()
  await signInOnPage(own.page, ada)
  await own.page.getByRole('button', { name: 'Allow' }).click()
  await own.page.waitForURL(`${url}/`)
  t.equal(await greeting.textContent(), 'Hello Ada', 'the page that the server renders knows it')
  const known = { signedIn: true, user: { id: ada.id, name: 'Ada' }, scope: 'profile' }
  t.match(await fetchIn(own.page, '/auth/service/session'), known)
  t.match(await fetchIn(own.page, '/api/me'), known, "and the game's own route")
  const cookies = await own.context.cookies(url)
  const name = scheme === 'https' ? '__Host-service_session' : /^service_session_[\w-]{8}$/
  const sameSite = scheme === 'https' ? 'None' : 'Lax'
  t.match(cookies, [{ name, httpOnly: true, secure: scheme === 'https', sameSite }], 'one cookie, and its attributes')
  t.same(await fetchIn(own.page, '/auth/service/logout', 'POST'), { signedIn: false })
  await own.page.reload()
  t.equal(await greeting.textContent(), 'Nobody', 'signed out')
  await own.context.close()

  const framed = await openPage(browser)
  await framed.page.goto(game.playUrl)
  await framed.page.frameLocator('iframe').getByText('Nobody').waitFor()
  await signInAtPortal(framed.context, platform, ada)
  await framed.page.goto(game.playUrl)
  await framed.page.frameLocator('iframe').getByText('Hello Ada').waitFor()
  const frame = framed.page.frames().find((one) => one.url().startsWith(url)) as Frame
  t.match(await fetchIn(frame, '/auth/service/session'), known, 'signed in on the play page, without a click')
  t.match(await fetchIn(frame, '/api/me'), known)
  // This checks that the browser blocks third-party cookies, so that the frame's own cookies are partitioned.
  await frame.evaluate("document.cookie = 'plain=1; SameSite=None; Secure; Path=/'")
  t.notMatch(await frame.evaluate('document.cookie'), 'plain=1', 'where unpartitioned cookies are blocked')
  t.same(await fetchIn(frame, '/auth/service/logout'), { signedIn: false })
  t.same(await fetchIn(frame, '/auth/service/session'), { signedIn: false }, 'signed out there')
  t.same(framed.complaints, [])
  await screenshot(framed.page, `play-elsewhere-${scheme}`)
  await expectNoAxeViolations(t, framed.page)
  await framed.context.close()
}

for (const [name, build] of [
  ['Express', buildExpress],
  ['Next.js', (t: Test) => buildNext(t)],
] as const) {
  t.test(`a game on ${name}, from packed packages`, { timeout: timeLimit(240) }, async (t) => {
    const app = build(t)
    for (const scheme of ['http', 'https'] as const) {
      await t.test(`on ${scheme}`, { timeout: timeLimit(120) }, (t) =>
        play(t, app, scheme, (flags) => openBrowser(t, flags, { whole: true })),
      )
    }
  })
}

/** A page for Next's Cache Components: what reads the session is rendered at the request, the remainder at the build. */
const CACHED_NEXT = {
  ...NEXT,
  'app/page.js': `
import { Suspense } from 'react'
import { auth } from '../lib/auth.js'
async function Who() {
  const session = await auth.getSession()
  return <p id="who">{session.signedIn ? 'Hello ' + session.user.name : 'Nobody'}</p>
}
export default function Page() {
  return <main><h1>Relay</h1><Suspense fallback={<p>…</p>}><Who /></Suspense></main>
}
`,
}

for (const [options, path] of [
  [{ trailingSlash: true }, ''],
  [{ basePath: '/pong' }, '/pong'],
  [{ basePath: '/pong', trailingSlash: true, cacheComponents: true }, '/pong'],
] as const) {
  t.test(`a game on Next.js with ${JSON.stringify(options)}`, { timeout: timeLimit(240) }, async (t) => {
    const app = buildNext(t, {
      ...('cacheComponents' in options ? CACHED_NEXT : NEXT),
      'next.config.js': `export default ${JSON.stringify(options)}`,
    })
    const browser = await openBrowser(t)
    if (!browser) return
    const port = await freePort()
    const origin = `http://relay.localhost:${port}`
    const home = `${origin}${path}${'trailingSlash' in options || path === '' ? '/' : ''}`
    const platform = await startPlatform(t, { listen: true })
    const owner = await platform.signUp()
    const ada = await platform.signUp({ name: 'Ada' })
    const redirectUri = `${origin}${path}/auth/service/callback`
    const program = await platform.program(owner)
    const { body: client } = await program.post('/api/oauth/apps', { name: 'Relay', redirectUris: [redirectUri] })
    const settings = {
      SERVICE_CLIENT_ID: client.clientId,
      SERVICE_CLIENT_SECRET: client.clientSecret,
      SERVICE_REDIRECT_URI: redirectUri,
      SERVICE_SESSION_SECRET: 'a long secret that only this game knows',
      SERVICE_BASE_URL: platform.portal,
    }
    await start(t, app, port, settings)
    const { page } = await openPage(browser)
    await page.goto(home)
    await page.getByText('Nobody').waitFor()
    await page.evaluate(`import('${platform.portal}/mount.js').then(async ({ mount }) => {
      document.body.append(Object.assign(document.createElement('div'), { id: 'mounted' }))
      await mount('#mounted', { gameName: 'Relay', path: '${path}' })
    })`)
    await page.getByRole('link', { name: 'Sign in to Relay' }).click()
    await signInOnPage(page, ada)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(home)
    await page.getByText('Hello Ada').waitFor()
    const known = { signedIn: true, user: { id: ada.id, name: 'Ada' } }
    t.match(await fetchIn(page, `${path}/auth/service/session`), known)
    t.match(await fetchIn(page, `${path}/api/me`), known)
    await page.goto(`${origin}${path}/auth/service/start?returnTo=${path}/api/me`)
    await page.waitForURL((url) => url.pathname.startsWith(`${path}/api/me`))
    await page.goto(`${origin}${path}/auth/service/logout`)
    await page.waitForURL(home)
    await page.getByText('Nobody').waitFor()
    t.same(await fetchIn(page, `${path}/auth/service/session`), { signedIn: false })

    if (path === '') return
    const other = await freePort()
    const wrong = { ...settings, SERVICE_REDIRECT_URI: `http://relay.localhost:${other}/auth/service/callback` }
    const output = await start(t, app, other, wrong)
    const { status } = await fetch(`http://127.0.0.1:${other}${path}/auth/service/start`)
    t.equal(status, 500, 'a redirect URI that is not below the basePath')
    const again = await fetch(`http://127.0.0.1:${other}${path}/auth/service/session`)
    t.equal(again.status, 500, 'at every request')
    const sentence = 'The sign-in routes are below /pong/, so redirectUri must end in /pong/auth/service/callback.'
    await until(() => output().includes(sentence))
  })
}
