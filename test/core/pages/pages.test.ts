import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { folderSource } from '../../../core/data/built-files.ts'
import { installPrivateCaching } from '../../../core/http/headers.ts'
import { renderReference } from '../../../core/openapi/reference.ts'
import { type BrowserFiles, browserFileRoutes, loadBrowserFiles } from '../../../core/pages/browser-files.ts'
import { home, manage, settings, signIn } from '../../../core/pages/design/examples.ts'
import {
  coverFor,
  coverSvg,
  formatBytes,
  html,
  type NavigationEntry,
  type PageOptions,
  renderErrorPage,
  renderPage,
  type Site,
} from '../../../core/pages/index.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { document as openapi } from '../openapi/openapi-example.ts'

const root = join(import.meta.dirname, '../../..')
const navigation: NavigationEntry[] = [
  { label: 'Games', href: '/games', place: 'make', order: 10 },
  { label: 'Play', href: '/', place: 'main', order: 10 },
  { label: 'Assets', href: '/assets', place: 'make', order: 30 },
  { label: 'Blender', href: '/jobs', place: 'make', order: 40 },
  { label: 'Settings', href: '/settings', place: 'account', order: 10 },
  { label: 'API tokens', href: '/settings/tokens', place: 'make', order: 50 },
  { label: 'Sign out', href: '/sign-out', place: 'account', order: 90, method: 'post' },
  { label: 'Players', href: '/host/players', place: 'host', order: 10 },
  { label: 'Sign in', href: '/sign-in', place: 'guest', order: 10 },
  { label: 'Sign up', href: '/sign-up', place: 'guest', order: 20, returns: true },
]

const ada = { name: 'Ada Lovelace', imageUrl: null, isAdmin: true, role: 'admin' as const }

const csp =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"

const pages: Record<string, Omit<PageOptions, 'user'>> = {
  home: { title: 'Play', body: home, current: '/', description: 'Games & friends' },
  manage: { title: 'Rooftop Relay', body: manage, current: '/games', share: { path: '/games/relay?a=1&b=2' } },
  settings: { title: 'API tokens', body: settings, flash: { message: 'Saved.' } },
  'sign-in': { title: 'Sign in', body: signIn, narrow: true },
  reference: { title: 'API reference', body: renderReference(openapi) },
}

async function serve(site: Partial<Site> = {}): Promise<{ app: FastifyInstance; url: string }> {
  execFileSync(process.execPath, [join(root, 'build/browser.ts'), '--if-stale'])
  const app = Fastify()
  installPrivateCaching(app)
  const files: BrowserFiles = await loadBrowserFiles(folderSource(join(root, 'dist/browser')))
  const legal = { operator: null, contact: null, terms: null, privacy: null }
  const decorated: Site = {
    name: 'Gameyard',
    portalUrl: '',
    navigation,
    links: [],
    thingLinks: [],
    card: null,
    legal,
    ...site,
  }
  app.decorate('site', decorated)
  app.decorate('browserFiles', files)
  app.addHook('onSend', async (_request, reply) => {
    reply.header('content-security-policy', csp)
    reply.header('x-content-type-options', 'nosniff')
  })
  browserFileRoutes(app, { files, origins: [] })
  for (const [name, options] of Object.entries(pages)) {
    app.get(`/${name}`, async (request, reply) => {
      const guest = (request.query as { guest?: string }).guest !== undefined
      return renderPage(reply, { ...options, user: guest ? null : ada })
    })
  }
  app.get('/error', async (request, reply) => {
    const { status } = request.query as { status: string }
    return renderErrorPage(reply, { status: Number(status), requestId: 'req-7K2F9' })
  })
  app.get('/bit-by-bit', async (_request, reply) => {
    const { payload, headers } = await app.inject('/sign-in?guest')
    return reply.type(String(headers['content-type'])).send(Readable.from(slowly(payload)))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as { port: number }
  decorated.portalUrl ||= `http://localhost:${port}`
  return { app, url: `http://localhost:${port}` }
}

/** Streams a page like a slow connection, with pauses before its title, its form, its footer and two parts of that. */
async function* slowly(page: string) {
  const bits = page.split(/(?=<h1|<form|<footer|<div class="foot-inner|<div class="theme)/)
  if (bits.length !== 6) throw new Error(`The page came in ${bits.length} bits.`)
  for (const bit of bits) {
    yield bit
    await sleep(150)
  }
}

inFull(t)?.test('every component is accessible and holds to the policy, in both schemes, at both widths', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { app, url } = await serve()
  t.teardown(() => app.close())
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      const viewport = { width, height: width === 390 ? 844 : 900 }
      const { page, context, complaints } = await openPage(browser, { colorScheme, viewport })
      for (const name of [...Object.keys(pages), 'home?guest', 'error?status=404']) {
        const label = `${name} ${colorScheme} ${width}`
        await page.goto(`${url}/${name}`)
        await page.evaluate(() => document.fonts.ready)
        await expectNoAxeViolations(t, page, `${label}: axe-core finds nothing`)
        await expectNoOverflow(t, page, `${label}: nothing sticks out`)
        await screenshot(page, label.replace(/[^\w-]+/g, '-'))
      }
      const unexpected = complaints.filter((complaint) => !complaint.includes('404 (Not Found)'))
      t.same(
        unexpected,
        [],
        `${colorScheme} ${width}: the console is quiet, the policy holds, nothing is fetched elsewhere`,
      )
      await context.close()
    }
  }
})

t.test('a page that comes bit by bit is shown once it is whole', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { app, url } = await serve()
  t.teardown(() => app.close())
  const { page, context } = await openPage(browser, { viewport: { width: 390, height: 844 } })
  await page.goto(`${url}/bit-by-bit`)
  await page.evaluate(() => document.fonts.ready)
  const shifts = await page.evaluate(
    () =>
      new Promise((done) => {
        const shifts: number[] = []
        const observer = new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value)
        })
        observer.observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => done(shifts), 300)
      }),
  )
  t.match(await page.title(), /^Sign in/)
  t.same(shifts, [], 'nothing moves')
  await context.close()
})

t.test('the islands improve a page that already works', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { app, url } = await serve()
  t.teardown(() => app.close())
  const { page, context } = await openPage(browser, { colorScheme: 'light', timezoneId: 'America/New_York' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])

  await page.goto(`${url}/manage`)
  await page.getByRole('button', { name: 'Copy client id' }).click()
  t.match(await page.evaluate(() => navigator.clipboard.readText()), /^app_/, 'a value is copied')
  t.match(await page.locator('time').textContent(), /5:30/, 'an instant stands in the time of the reader')

  await page.locator('.menu summary').click()
  t.ok(await page.getByRole('button', { name: 'Sign out' }).isVisible(), 'the account menu opens')
  await page.keyboard.press('Escape')
  t.notOk(await page.getByRole('button', { name: 'Sign out' }).isVisible(), 'Escape closes it')

  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  const day = await background()
  await page.getByRole('button', { name: 'Dark' }).click()
  const night = await background()
  t.not(night, day, 'the scheme changes at once')
  await page.goto(`${url}/settings`)
  t.equal(await background(), night, 'and stays on the next page')
  t.match(
    await (await page.request.get(`${url}/settings`)).text(),
    /<html lang="en" data-theme="dark">/,
    'as the server writes it',
  )

  await page.locator('.flash').getByRole('button', { name: 'Dismiss' }).click()
  t.notOk(await page.locator('.flash .notice').isVisible(), 'a flash goes away')
  t.equal(await page.evaluate(() => document.activeElement?.id), 'main', 'and leaves the focus on the page')
  await context.close()
})

t.test('without scripts nothing is offered that would not work', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { app, url } = await serve()
  t.teardown(() => app.close())
  const { page, context } = await openPage(browser, { javaScriptEnabled: false })
  await page.goto(`${url}/settings`)
  t.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0)
  t.equal(await page.getByRole('button', { name: 'Dismiss' }).count(), 0)
  await page.locator('.menu summary').click()
  t.ok(await page.getByRole('button', { name: 'Sign out' }).isVisible(), 'the menu needs none')
  await page.keyboard.press('Escape')
  await page.locator('.confirm summary').click()
  t.ok(await page.getByRole('button', { name: 'Delete for good' }).isVisible(), 'nor does the second thought')
  await context.close()
})

t.test('a page is private, escaped and free of inline scripts and styles', async (t) => {
  const { app, url } = await serve({ name: 'A & <B>' })
  t.teardown(() => app.close())
  app.log.level = 'silent'
  const answer = await app.inject('/home')
  t.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(answer.headers['cache-control'], 'private, no-cache')
  t.match(answer.body, '<title>Play · A &amp; &lt;B&gt;</title>')
  t.match(answer.body, 'content="Games &amp; friends"')
  for (const name of Object.keys(pages)) {
    const { body } = await app.inject(`/${name}`)
    t.notMatch(body, /<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+="/, `${name} has nothing inline`)
    t.notMatch(body, /\[object Object\]|undefined|NaN/, `${name} has no slip of a template`)
  }
  const elsewhere = await app.inject({ url: '/home', headers: { host: 'studio.example' } })
  t.match(elsewhere.body, `href="${url}/games"`, 'on another origin the navigation leads back to the portal')
})

t.test('navigation is ordered and shows the host part to administrators only', async (t) => {
  const { app } = await serve()
  t.teardown(() => app.close())
  const mine = (await app.inject('/home')).body
  t.ok(mine.indexOf('>Play<') < mine.indexOf('>Make<'))
  t.match(mine, '>Server<')
  t.notMatch(mine, '>Sign up<')
  const guest = (await app.inject('/home?guest')).body
  t.match(guest, '>Sign up<')
  t.notMatch(guest, '>Server<')
})

t.test('a visitor who signs in or up comes back to the public page that they left', async (t) => {
  const { app, url } = await serve()
  t.teardown(() => app.close())
  const bar = async (path: string) => (await app.inject(path)).body
  t.match(await bar('/manage?guest'), `href="${url}/sign-up?returnTo=%2Fgames%2Frelay%3Fa%3D1%26b%3D2"`)
  t.match(await bar('/home?guest'), `href="${url}/sign-up"`, 'not to a page without a public address')
  t.notMatch(await bar('/manage'), 'returnTo')
})

t.test('an error page says what happened and what to quote, and is never kept', async (t) => {
  const { app } = await serve()
  t.teardown(() => app.close())
  for (const status of [400, 403, 404, 418, 421, 429, 500, 503, 599]) {
    const answer = await app.inject(`/error?status=${status}`)
    t.equal(answer.statusCode, status)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.match(answer.body, 'req-7K2F9')
    t.match(answer.body, /<h1>[^<]+<\/h1>/)
  }
})

t.test('a cover is drawn from the title, always the same for one game, seldom for two', async (t) => {
  const drawn = new Set(Array.from({ length: 60 }, (_, index) => coverSvg(`gam_${index}`, 'Untitled')))
  t.equal(drawn.size, 60)
  t.equal(coverSvg('gam_1', 'Sonar'), coverSvg('gam_1', 'Sonar'))
  t.match(coverSvg('gam_1', 'Sonar'), /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox/)
  t.notMatch([...drawn].join(''), /NaN|undefined|style=/)
  t.ok(coverFor('gam_1', ''), 'even of an empty title')
  t.ok(html`<p />`)
})

t.test('a size is said in the unit in which it is short', async (t) => {
  const sizes = {
    0: '0 bytes',
    1: '1 byte',
    1023: '1023 bytes',
    1024: '1 KiB',
    1577: '1.54 KiB',
    1048576: '1 MiB',
    1048000: '1,020 KiB',
    5368709120: '5 GiB',
  }
  for (const [bytes, said] of Object.entries(sizes)) t.equal(formatBytes(Number(bytes)), said)
  t.strictSame([2 ** 30, 1.25 * 2 ** 40, 3 * 2 ** 50].map(formatBytes), ['1 GiB', '1.25 TiB', '3,070 TiB'])
})
