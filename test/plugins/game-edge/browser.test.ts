// Tests real builds in Chromium: threads, engines' own compression, many files, large files, and the player's session.
// The long form uses the largest sizes.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { deploy, sha256 } from './kit.ts'

const FILES = amount(60, 3000)
const BYTES = amount(4, 300) * 1024 * 1024
const THREADS = join(import.meta.dirname, '../../fixtures/games/threads')
const threads = Object.fromEntries(readdirSync(THREADS).map((name) => [name, readFileSync(join(THREADS, name))]))

async function publish(
  platform: Platform,
  files: Record<string, string | Buffer>,
  fields: Record<string, unknown> = {},
) {
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner, fields)
  await deploy(platform, await platform.program(owner), game.id, files)
  return { owner, game, url: platform.app.origins.game(game.slug) }
}

const session = (page: { evaluate: Page['evaluate'] }) =>
  page.evaluate("fetch('/auth/service/session').then((answer) => answer.json())")

/** Plays the isolated game at its own address and on the play page, signed in at both. */
async function playIsolated(t: Test, browser: Browser, platform: Platform) {
  const { owner, game, url } = await publish(platform, threads)
  const own = await openPage(browser)
  await own.page.goto(`${url}/?level=2`)
  await own.page.getByText('Counted to 1000000.').waitFor()
  t.equal(await own.page.evaluate('crossOriginIsolated'), true)
  await own.page.locator('service-auth:not([hidden])').click()
  await signInOnPage(own.page, owner)
  await own.page.waitForURL(`${url}/?level=2`)
  await own.page.getByText('Counted to 1000000.').waitFor()
  t.match(await session(own.page), { signedIn: true, user: { name: 'Ada' } }, 'signed in at its own address')
  await own.context.close()

  const framed = await openPage(browser)
  await signInAtPortal(framed.context, platform.portal, owner)
  await framed.page.goto(game.playUrl)
  await framed.page.frameLocator('iframe').getByText('Counted to 1000000.').waitFor()
  const frame = framed.page.frames().find((one) => one.url().startsWith(url)) as unknown as Page
  t.equal(await frame.evaluate('crossOriginIsolated'), true, 'isolated in the frame')
  t.match(await session(frame), { signedIn: true, user: { name: 'Ada' } }, 'signed in in the frame, without a click')
  // This checks that the browser blocks third-party cookies, so that the frame's own cookies are partitioned.
  await frame.evaluate("document.cookie = 'plain=1; SameSite=None; Secure; Path=/'")
  t.notMatch(await frame.evaluate('document.cookie'), 'plain=1', 'where unpartitioned cookies are blocked')
  await framed.context.close()
}

async function signInOnPage(page: Page, player: PlayerClient): Promise<void> {
  await page.locator('input[name=email]').fill(player.account.email)
  await page.locator('input[name=password]').fill(player.account.password)
  await page.locator('input[name=password]').press('Enter')
}

async function signInAtPortal(context: BrowserContext, portal: string, player: PlayerClient): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${portal}/sign-in`)
  await Promise.all([page.waitForURL(`${portal}/`), signInOnPage(page, player)])
  await page.close()
}

t.test('a game with threads, on http://localhost', { timeout: timeLimit(240) }, async (t) => {
  const browser = await openBrowser(t, [], { whole: true })
  if (!browser) return
  await playIsolated(t, browser, await startPlatform(t, { listen: true }))
})

inFull(t)?.test('a game with threads, on https behind a proxy', { timeout: timeLimit(240) }, async (t) => {
  const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
  const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
  const browser = proxy && (await openBrowser(t, proxy.chromiumFlags))
  if (browser) await playIsolated(t, browser, platform)
})

t.test(
  'a visitor who signs in inside the frame comes back to the play page',
  { timeout: timeLimit(120) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const { owner, game, url } = await publish(platform, {
      'index.html': '<!doctype html><title>Game</title><h1>Game</h1>',
    })
    const { page, context } = await openPage(browser)
    await page.goto(`${game.playUrl}?room=den`)
    const widget = page.frameLocator('iframe').locator('service-auth:not([hidden])')
    await widget.locator('a').click()
    await page.waitForURL((address) => address.pathname === '/sign-in')
    await signInOnPage(page, owner)
    await page.waitForURL(`${game.playUrl}?room=den`)
    await page.frameLocator('iframe').getByRole('heading', { name: 'Game' }).waitFor()
    const frame = page.frames().find((one) => one.url().startsWith(url)) as unknown as Page
    t.match(await session(frame), { signedIn: true, user: { name: 'Ada' } })
    await context.close()
  },
)

inFull(t)?.test(
  'a sign-in that needs the player’s consent ends signed out in the frame',
  { timeout: timeLimit(180) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const platform = await startPlatform(t, { listen: true, config: { oauth: { skipConsentForHostedGames: false } } })
    const { owner, game, url } = await publish(platform, threads, { settings: { crossOriginIsolated: true } })
    const { page, context } = await openPage(browser)
    await signInAtPortal(context, platform.portal, owner)
    await page.goto(game.playUrl)
    await page.frameLocator('iframe').getByText('Counted to 1000000.').waitFor()
    const frame = page.frames().find((one) => one.url().startsWith(url)) as unknown as Page
    t.same(await session(frame), { signedIn: false })
    await page.frameLocator('iframe').locator('service-auth:not([hidden])').click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${url}/`)
    t.match(await session(page), { signedIn: true }, 'and a click leads to the question and back')
  },
)

inFull(t)?.test(
  'builds as engines make them, of many files and of large ones',
  { timeout: timeLimit(600) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const framework =
      'window.framework = async (wasm) => (await WebAssembly.compileStreaming(fetch(wasm))).constructor.name'
    const data = Buffer.from('level data '.repeat(1000))
    const large = randomBytes(BYTES)
    const many = Object.fromEntries(
      Array.from({ length: FILES }, (_, at) => [`levels/${at % 50}/${at}.json`, `{"level":${at}}`]),
    )
    const { url } = await publish(platform, {
      'index.html':
        '<!doctype html><html><head><title>Unity</title></head><body><script src="Build/game.framework.js.gz"></script></body></html>',
      'Build/game.framework.js.gz': gzipSync(framework),
      'Build/game.wasm.br': brotliCompressSync(threads['add.wasm'] as Buffer),
      'Build/game.data.gz': gzipSync(data),
      'Build/large.pck': large,
      ...many,
    })
    const { page, complaints } = await openPage(browser)
    await page.goto(url)
    t.equal(await page.evaluate("framework('Build/game.wasm.br')"), 'Module', 'compiled while it streams')
    const read = "fetch('Build/game.data.gz').then((answer) => answer.text())"
    t.equal(await page.evaluate(read), data.toString(), 'the browser unpacks it')
    const digest = (path: string) => `fetch('${path}').then((answer) => answer.arrayBuffer()).then(async (bytes) =>
    [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join(''))`
    t.equal(await page.evaluate(digest('Build/large.pck')), sha256(large), `${BYTES} bytes, whole`)
    // The number of parallel requests is that of an engine; a browser drops some of thousands.
    const right = await page.evaluate(`(async () => {
    let next = 0, right = 0
    const load = async () => {
      for (let at = next++; at < ${FILES}; at = next++)
        if ((await (await fetch('levels/' + (at % 50) + '/' + at + '.json')).json()).level === at) right++
    }
    await Promise.all(Array.from({ length: 64 }, load))
    return right
  })()`)
    t.equal(right, FILES, 'each file is itself')
    t.same(complaints, [])
  },
)

inFull(t)?.test(
  'a build of Unity runs over plain http, where browsers take no Brotli',
  { timeout: timeLimit(120) },
  async (t) => {
    const names = { portal: { url: 'http://www.portal.test' }, games: { domain: 'games.test' } }
    const platform = await startPlatform(t, { listen: true, config: names })
    const { port } = platform.app.server.address() as { port: number }
    const browser = await openBrowser(t, [`--host-resolver-rules=MAP *.test 127.0.0.1:${port}`])
    if (!browser) return
    const { url } = await publish(platform, {
      'index.html':
        '<!doctype html><html><head><title>Unity</title><link rel="icon" href="data:,"></head><body><script src="Build/game.framework.js.br"></script></body></html>',
      'Build/game.framework.js.br': brotliCompressSync(
        'window.framework = async (wasm) => (await WebAssembly.compileStreaming(fetch(wasm))).constructor.name',
      ),
      'Build/game.wasm.br': brotliCompressSync(Buffer.from('\0asm\x01\0\0\0')),
    })
    const { page, complaints } = await openPage(browser)
    const accepted: (string | undefined)[] = []
    page.on('request', async (request) => accepted.push((await request.allHeaders())['accept-encoding']))
    await page.goto(url)
    t.equal(await page.evaluate("framework('Build/game.wasm.br')"), 'Module')
    t.same([...new Set(accepted)], ['gzip, deflate'], 'as browsers send it where a connection is not secure')
    t.same(complaints, [])
  },
)

inFull(t)?.test(
  'the widget stands well over light and dark games, wide and narrow',
  { timeout: timeLimit(180) },
  async (t) => {
    const browser = await openBrowser(t, [], { whole: true })
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const page = (scheme: string, colours: string) =>
      `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>Game</title>
     <style>html { color-scheme: ${scheme}; ${colours} }</style></head><body><main><h1>A game</h1></main></body></html>`
    const { owner, url } = await publish(platform, {
      'index.html': page('light', 'background: #f4efe4; color: #222'),
      'dark.html': page('dark', 'background: #0d1117; color: #eee'),
    })
    for (const width of [390, 1280]) {
      for (const scheme of ['light', 'dark'] as const) {
        const { page, context } = await openPage(browser, { viewport: { width, height: 700 }, colorScheme: scheme })
        await page.goto(scheme === 'dark' ? `${url}/dark.html` : url)
        const widget = page.locator('service-auth:not([hidden])')
        await widget.waitFor()
        await expectNoAxeViolations(t, page, `signed out, ${scheme}, ${width}`)
        await screenshot(page, `widget-out-${scheme}-${width}`)
        await widget.locator('a').click()
        await signInOnPage(page, owner)
        await page.waitForURL(`${url}/**`)
        await widget.locator('summary').waitFor()
        await page.keyboard.press('Tab')
        await page.keyboard.press('Enter')
        await widget.getByRole('button', { name: 'Sign out' }).waitFor()
        const box = await widget.locator('.menu').boundingBox()
        t.ok(box && box.x >= 0 && box.x + box.width <= width, 'the menu stays on the screen')
        await expectNoAxeViolations(t, page, `signed in, ${scheme}, ${width}`)
        await screenshot(page, `widget-in-${scheme}-${width}`)
        await page.keyboard.press('Escape')
        t.equal(await widget.locator('.menu').isVisible(), false, 'Escape closes the menu')
        await context.close()
      }
    }
  },
)
