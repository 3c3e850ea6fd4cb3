// A game's service worker, whatever it does, leaves the requests of the platform alone. Over sockets, and in Chromium at the
// game's own address and on the play page, in a browser that allows third-party cookies, since only there workers of framed
// games run.
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Frame, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage, openProfile, WITH_THIRD_PARTY_COOKIES } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy } from './kit.ts'

const HASHED = 'sw.3f2a9c1bd4e5f607.js'

t.test('the script of a service worker has the platform’s listener, and an entity tag of its own', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const script = `'use strict'\n${'// precache\n'.repeat(200)}// the end`
  const large = `// ${'x'.repeat(5 * 1024 ** 2)}`
  await deploy(platform, await platform.program(owner), game.id, {
    'index.html': '<!doctype html><title>A</title>',
    'sw.js': script,
    [HASHED]: script,
    'large.js': large,
    'sw.js.br': brotliCompressSync(Buffer.from(script)),
    'bomb.js.br': brotliCompressSync(Buffer.from(large)),
  })
  const host = platform.gameHost(game.slug)
  t.notMatch(
    (
      await platform.stranger.get('/sw.js', {
        host: platform.gameHost(game.slug),
        headers: { 'sec-fetch-dest': 'worker' },
      })
    ).text,
    'stopImm',
  )
  const asWorker = { 'service-worker': 'script', 'sec-fetch-dest': 'serviceworker' }
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await platform.app.inject({ url: path, headers: { host, ...headers } })
    return { status: answer.statusCode, headers: answer.headers, bytes: answer.rawPayload }
  }
  for (const path of ['/sw.js', `/${HASHED}`, '/sw.js.br']) {
    const plain = await ask(path)
    t.equal(plain.bytes.toString(), script, `${path} for others is as it was uploaded`)
    for (const round of ['first', 'from memory']) {
      const worker = await ask(path, asWorker)
      const text = worker.bytes.toString()
      t.ok(text.endsWith(script) && text.includes('stopImmediatePropagation'), `${path}, ${round}`)
      t.match(text, /^'use strict';/, 'with its directive')
      t.equal(text.split('\n').length, script.split('\n').length, 'and its lines')
      t.equal((await ask(path, { 'sec-fetch-dest': 'serviceworker' })).bytes.toString(), text, 'for modules too')
      t.match(worker.headers, {
        'content-type': /javascript/,
        'cache-control': 'public, max-age=0, must-revalidate',
        vary: /\bservice-worker\b/,
        'content-length': String(worker.bytes.length),
      })
      t.not(worker.headers.etag, plain.headers.etag)
      const { etag } = worker.headers as { etag: string }
      t.equal((await ask(path, { ...asWorker, 'if-none-match': etag })).status, 304)
      t.equal((await ask(path, { ...asWorker, 'if-none-match': plain.headers.etag as string })).status, 200)
      t.equal((await ask(path, { 'if-none-match': etag })).status, 200)
      const gzip = await ask(path, { ...asWorker, 'accept-encoding': 'gzip' })
      t.ok(gunzipSync(gzip.bytes).equals(worker.bytes))
      const br = await ask(path, { ...asWorker, 'accept-encoding': 'br' })
      t.ok(brotliDecompressSync(br.bytes).equals(worker.bytes))
    }
    t.equal((await ask(path)).bytes.toString(), script, 'and stays so')
  }
  for (const path of ['/large.js', '/bomb.js.br']) {
    const { bytes, headers } = await ask(path, asWorker)
    t.ok(bytes.toString().endsWith(large), 'a script of several megabytes, which is not read whole')
    t.match(bytes.toString('latin1', 0, 1000), 'stopImmediatePropagation')
    t.equal(headers['content-encoding'], undefined)
    const br = await ask(path, { ...asWorker, 'accept-encoding': 'br' })
    t.ok(br.headers['content-encoding'] === 'br' && brotliDecompressSync(br.bytes).equals(bytes), 'and compressed')
    const gzip = await ask(path, { ...asWorker, 'accept-encoding': 'gzip' })
    t.ok(gzip.headers['content-encoding'] === 'gzip' && gunzipSync(gzip.bytes).equals(bytes))
  }
})

/** What workers do that swallows a sign-in: a fallback for navigations, answers built anew, caches of everything. */
const GREEDY = `
const rebuilt = async (request) => {
  const cache = await caches.open('all')
  const known = await cache.match(request)
  if (known) return known
  const answer = await fetch(request)
  if (request.method === 'GET' && answer.ok) await cache.put(request, answer.clone())
  return new Response(answer.body, { status: answer.status, headers: answer.headers })
}
self.addEventListener('install', (event) => {
  self.skipWaiting()
  event.waitUntil(caches.open('all').then((cache) => cache.addAll(['/index.html'])))
})
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
self.onfetch = (event) => {
  event.respondWith(event.request.mode === 'navigate' ? caches.match('/index.html') : rebuilt(event.request))
}`

const page = (register: string) => `<!doctype html><html lang="en"><head><title>Offline</title></head><body>
<h1>A game</h1><script type="module">
await ${register}
await navigator.serviceWorker.ready
document.body.dataset.worker = 'ready'
</script></body></html>`

const FILES = {
  'index.html': page("navigator.serviceWorker.register('/sw.js')"),
  'sw.js': GREEDY,
}
/** The imported module adds its listener before the script of the worker itself runs. */
const MODULES = {
  'index.html': page("navigator.serviceWorker.register('/sw.js', { type: 'module' })"),
  'sw.js': "import './worker/greedy.js'",
  'worker/greedy.js': GREEDY,
}

const session = (page: Page | Frame): Promise<{ signedIn: boolean }> =>
  page.evaluate("fetch('/auth/service/session').then((answer) => answer.json())")

async function publish(platform: Platform, files: Record<string, string>) {
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner)
  await deploy(platform, await platform.program(owner), game.id, files)
  return { owner, url: platform.app.origins.game(game.slug), playUrl: String(game.playUrl) }
}

/** Signs in at the game's own address, after its worker has taken over. */
async function signInThroughWorker(t: Test, page: Page, url: string, owner: PlayerClient): Promise<void> {
  await page.goto(url)
  await page.locator('body[data-worker=ready]').waitFor()
  await page.reload()
  await page.locator('body[data-worker=ready]').waitFor()
  t.ok(await page.evaluate('navigator.serviceWorker.controller !== null'), 'the worker stands between')
  t.match(await session(page), { signedIn: false })
  await page.locator('service-auth:not([hidden])').click()
  await page.locator('input[name=email]').fill(owner.account.email)
  await page.locator('input[name=password]').fill(owner.account.password)
  await page.locator('input[name=password]').press('Enter')
  await page.waitForURL(`${url}/`)
  await page.locator('body[data-worker=ready]').waitFor()
  t.match(await session(page), { signedIn: true }, 'signed in')
  const kept = await page.evaluate(`caches.open('all').then((cache) => cache.keys()).then((keys) =>
    keys.map(({ url }) => new URL(url).pathname).filter((path) => /^.(?:auth|mp|__service)/.test(path)))`)
  t.same(kept, [], 'and the worker has kept nothing of the platform')
}

/** Plays a game on the play page several times. Its worker stands between from the second visit. */
async function playThroughWorker(t: Test, page: Page, playUrl: string, url: string): Promise<void> {
  for (const visit of ['first', 'second', 'third']) {
    await page.goto(playUrl)
    await page.frameLocator('.play iframe').locator('body[data-worker=ready]').waitFor()
    const frame = page.frames().find((one) => one.url().startsWith(url)) as Frame
    if (visit !== 'first')
      t.ok(await frame.evaluate('navigator.serviceWorker.controller !== null'), `the worker stands between, ${visit}`)
    t.match(await session(frame), { signedIn: true }, `signed in, ${visit} visit`)
  }
}

t.test('a player signs in to a game whose worker answers everything', { timeout: timeLimit(180) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  for (const files of [FILES, inFull(t) && MODULES]) {
    if (!files) continue
    const { owner, url, playUrl } = await publish(platform, files)
    const { page, context } = await openPage(browser)
    await signInThroughWorker(t, page, url, owner)
    await playThroughWorker(t, page, playUrl, url)
    await context.close()
  }
})

inFull(t)?.test('so it is across sites in Chrome as it ships', { timeout: timeLimit(240) }, async (t) => {
  const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
  const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
  const context = proxy && (await openProfile(t, WITH_THIRD_PARTY_COOKIES, proxy.chromiumFlags))
  if (!context) return
  for (const files of [FILES, MODULES]) {
    const { owner, url, playUrl } = await publish(platform, files)
    await context.clearCookies()
    const page = await context.newPage()
    await signInThroughWorker(t, page, url, owner)
    await playThroughWorker(t, page, playUrl, url)
    await page.close()
  }
})
