/**
 * Measures the editor of a game's files in Chromium:
 *
 *     npx node bench/editor.ts [rounds]
 *
 * - how long its page takes until it can be typed in, and until the text editor has loaded, on the slow connection and
 *   CPU of `bench/portal.ts paint`. A bare Fastify server answers a page with as many bytes of HTML, styles and scripts
 *   in the same run: that is what connection and machine take by themselves;
 * - how long a save takes until the preview has run the new text, without throttling, compared with a request and a
 *   frame of the bare server;
 * - how long *Publish* of each starter takes, from the click to the notice that the game is live.
 *
 * Times of the page come from its own clock.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpus, loadavg, release } from 'node:os'
import Fastify from 'fastify'
import type { Browser, Page } from 'playwright-core'
import { STARTERS } from '../plugins/starters/catalog.ts'
import { openTab, startChromium, throttle } from './first-paint.ts'
import { ACCOUNT, createPlatform } from './platform.ts'

const WIDE = { width: 1280, height: 844 }
/** The end of a page is what changes here, and the page tells its end. */
const GAME = `<!doctype html>
<title>Pond</title>
<script>addEventListener('DOMContentLoaded', () => console.log('end ' + document.body.textContent.trim()))</script>
<p>0`

interface Site {
  origin: string
  cookie: string
}

/** The bytes that a browser receives for the page before it can be typed in. */
interface Weight {
  page: number
  styles: number
  scripts: number
}

const NOTHING: Weight = { page: 0, styles: 0, scripts: 0 }

async function run(rounds: number): Promise<void> {
  const line = `${process.version}, ${cpus()[0]?.model} × ${cpus().length}, ${release()}, load average ${loadavg()[0]?.toFixed(1)}`
  process.stdout.write(`Node ${line}; ${rounds} rounds: fastest, median\n`)
  const browser = await startChromium()
  const [gameyard, bare] = await Promise.all(['gameyard', 'bare'].map(start))
  try {
    if (!gameyard || !bare) return
    await reportOpening(browser, gameyard.site, bare.site, rounds)
    await reportSaves(browser, gameyard.site, bare.site, rounds)
    await reportPublishing(browser, gameyard.site, rounds)
  } finally {
    await browser.close()
    for (const server of [gameyard, bare]) server?.child.kill()
  }
}

async function reportOpening(browser: Browser, site: Site, bare: Site, rounds: number): Promise<void> {
  const opened = []
  const floor = []
  for (let round = 0; round < rounds; round++) {
    const one = await opening(browser, site, '/games/canvas/code')
    opened.push(one)
    floor.push(await opening(browser, bare, `/page?${new URLSearchParams(Object.entries(one.weight).map(textOf))}`))
  }
  const [{ page, styles, scripts } = NOTHING] = opened.map(({ weight }) => weight)
  process.stdout.write(`page opened for the first time, slow: ${page} bytes, styles ${styles}, scripts ${scripts}\n`)
  report(
    '  bare page can be typed in',
    floor.map(({ ready }) => ready),
  )
  report(
    '  editor can be typed in',
    opened.map(({ ready }) => ready),
  )
  report(
    '  editor, text editor loaded',
    opened.map(({ loaded }) => loaded),
  )
}

const textOf = ([name, value]: [string, unknown]): [string, string] => [name, String(value)]

/**
 * Opens a page in a new context. It can be typed in when its text field is there and painted. Times are ms since the start
 * of the navigation.
 */
async function opening(
  browser: Browser,
  site: Site,
  path: string,
): Promise<{ ready: number; loaded: number; weight: Weight }> {
  const page = await openTab(browser, site)
  await page.addInitScript(() => {
    const times: Record<string, number> = {}
    Object.assign(window, { times })
    new MutationObserver(() => {
      if (document.querySelector('textarea, [data-ready]')) times.ready ??= performance.now()
      if (document.querySelector('.code-text:not([hidden])')) times.loaded ??= performance.now()
    }).observe(document, { subtree: true, childList: true, attributes: true })
  })
  await throttle(page)
  await page.goto(site.origin + path, { waitUntil: 'commit' })
  await page.waitForFunction(isLoaded, undefined, { timeout: 120_000 })
  const found = await page.evaluate(() => {
    const times = (window as unknown as { times: { ready: number; loaded: number } }).times
    const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0
    times.ready = Math.max(times.ready, painted)
    const files = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    const received = (type: string) =>
      files
        .filter(({ name, responseEnd }) => new URL(name).pathname.endsWith(type) && responseEnd <= times.ready)
        .reduce((sum, { transferSize }) => sum + transferSize, 0)
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    const weight = { page: navigation?.transferSize ?? 0, styles: received('.css'), scripts: received('.js') }
    return { ...times, weight }
  })
  await page.context().close()
  return found
}

const isLoaded = () =>
  (window as unknown as { times: { loaded?: number } }).times.loaded !== undefined &&
  performance.getEntriesByName('first-contentful-paint').length > 0

async function reportSaves(browser: Browser, site: Site, bare: Site, rounds: number): Promise<void> {
  await put(site, 'page', 'index.html', GAME)
  process.stdout.write('save until the preview has run the new text\n')
  for (const [name, { origin, cookie }, path] of [
    ['  bare request and frame', bare, '/editor'],
    ['  editor', site, '/games/page/code'],
  ] as const) {
    const page = await openTab(browser, { origin, cookie }, WIDE)
    await page.addInitScript(() => {
      const watch = { savedAt: 0, shownAt: 0, end: '' }
      Object.assign(window, { watch })
      addEventListener(
        'keydown',
        ({ key, ctrlKey }) => {
          if (key === 's' && ctrlKey) watch.savedAt = performance.now()
        },
        true,
      )
      addEventListener('message', ({ data }) => {
        if (data?.gameyard === 'console' && data.text.endsWith(watch.end)) watch.shownAt = performance.now()
      })
    })
    await page.goto(origin + path)
    await page.locator('.cm-content, textarea.bare').click()
    await page.keyboard.press('Control+End')
    const times: number[] = []
    for (let round = 0; round < rounds * 3; round++) times.push(await saving(page, String((round + 1) % 10)))
    report(name, times)
    await page.context().close()
  }
}

/** Types a character and saves. */
async function saving(page: Page, character: string): Promise<number> {
  await page.evaluate(
    (end) => Object.assign((window as unknown as { watch: object }).watch, { end, savedAt: 0, shownAt: 0 }),
    character,
  )
  await page.keyboard.type(character)
  await page.keyboard.press('Control+s')
  const took = await page.waitForFunction(
    () => {
      const { savedAt, shownAt } = (window as unknown as { watch: { savedAt: number; shownAt: number } }).watch
      return savedAt > 0 && shownAt > savedAt ? shownAt - savedAt : null
    },
    undefined,
    { timeout: 60_000 },
  )
  return (await took.jsonValue()) as number
}

async function reportPublishing(browser: Browser, site: Site, rounds: number): Promise<void> {
  process.stdout.write('Publish, from the click until the game is live\n')
  const page = await openTab(browser, site, WIDE)
  for (const { name } of STARTERS) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      await put(site, name, 'note.txt', `${round}`)
      await page.goto(`${site.origin}/games/${name}/code`)
      await page.getByRole('button', { name: 'Publish', exact: true }).click()
      await page.getByRole('button', { name: 'Publish now' }).waitFor()
      const took = await page.evaluate(async () => {
        const submit = document.querySelector<HTMLButtonElement>('.code-dialog [type=submit]')
        const began = performance.now()
        submit?.click()
        while (!document.querySelector('.notice.success')) await new Promise(requestAnimationFrame)
        return performance.now() - began
      })
      times.push(took)
    }
    report(`  ${name}`, times)
  }
  await page.context().close()
}

async function put({ origin, cookie }: Site, game: string, path: string, text: string): Promise<void> {
  const address = `${origin}/api/games/${game}/draft/files/${path}`
  const headers = { cookie, origin, 'content-type': 'text/plain' }
  const { status } = await fetch(address, { method: 'PUT', headers, body: text })
  if (status !== 200) throw new Error(`${address} was answered with ${status}.`)
}

function report(name: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const numbers = [sorted[0], sorted[Math.floor(sorted.length / 2)]].map((time) =>
    String(Math.round(time ?? 0)).padStart(6),
  )
  process.stdout.write(`${name.padEnd(34)} ${numbers.join(' ')} ms\n`)
}

async function start(name: string): Promise<{ child: ChildProcess; site: Site }> {
  const child = fork(import.meta.filename, [name], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const [site] = (await once(child, 'message')) as [Site]
  return { child, site }
}

/** A platform with a game of each starter, whose slug is the starter's name. */
async function serveGameyard(): Promise<void> {
  const { app, port } = await createPlatform({ silent: true })
  await app.identity.players.createByHost(ACCOUNT, 'admin')
  await app.listen({ host: '127.0.0.1', port })
  const origin = `http://localhost:${port}`
  const json = { 'content-type': 'application/json', origin }
  const { email, password } = ACCOUNT
  const answer = await fetch(`${origin}/api/auth/sign-in`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email, password }),
  })
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  for (const { name } of STARTERS) {
    const { status } = await fetch(`${origin}/games/new/starter`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin, cookie },
      body: new URLSearchParams({ starter: name, title: name }),
    })
    if (status !== 303) throw new Error(`The starter ${name} was answered with ${status}.`)
  }
  process.send?.({ origin, cookie })
}

/** A page of given bytes, and an editor of one text without anything else. */
async function serveBare(): Promise<void> {
  const app = Fastify()
  let text = GAME
  const noise = (bytes: number) => randomBytes(Math.max(0, Math.ceil((bytes * 3) / 4))).toString('base64')
  app.get<{ Querystring: Record<keyof Weight, string> }>('/page', (request, reply) => {
    const { page, styles, scripts } = request.query
    return reply.type('text/html').send(`<!doctype html><link rel="stylesheet" href="/style.css?${styles}">
      <script type="module" src="/script.js?${scripts}"></script>
      <p>Text<div class="code-text" data-ready><textarea>Text</textarea></div><!--${noise(Number(page))}-->`)
  })
  app.get('/style.css', (request, reply) =>
    reply.type('text/css').send(`body { color: black } /*${noise(Number(request.url.split('?')[1]))}*/`),
  )
  app.get('/script.js', (request, reply) =>
    reply.type('text/javascript').send(`/*${noise(Number(request.url.split('?')[1]))}*/`),
  )
  app.get('/editor', (_request, reply) =>
    reply.type('text/html').send(`<!doctype html><textarea class="bare"></textarea><iframe src="/game"></iframe><script>
      const area = document.querySelector('textarea')
      area.value = ${JSON.stringify(GAME).replaceAll('<', '\\u003c')}
      area.onkeydown = async (event) => {
        if (event.key !== 's' || !event.ctrlKey) return
        event.preventDefault()
        await fetch('/game', { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: area.value })
        document.querySelector('iframe').contentWindow.location.reload()
      }</script>`),
  )
  app.put<{ Body: string }>('/game', async (request) => {
    text = request.body
    return { saved: true }
  })
  app.get('/game', (_request, reply) =>
    reply.type('text/html').send(`<script>
      console.log = (text) => parent.postMessage({ gameyard: 'console', text }, '*')</script>${text}`),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.send?.({ origin: `http://localhost:${(app.server.address() as { port: number }).port}`, cookie: '' })
}

const [role] = process.argv.slice(2)
if (role === 'gameyard') await serveGameyard()
else if (role === 'bare') await serveBare()
else await run(Number(role ?? 5))
