import t from 'tap'
import { fillIn } from '../../../plugins/docs/placeholders.ts'
import { renderGuide } from '../../../plugins/docs/render.ts'
import { guideNames, guideText } from '../../docs/blocks.ts'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'

const platform = await startPlatform(t, { listen: true })
const { stranger, portal } = platform
const names = guideNames()

/** Returns the visible text of a page. */
const seen = (markup: string) =>
  markup
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

t.test('every guide is listed once and has a page, and each leads to the next', async (t) => {
  const overview = (await stranger.get('/docs')).text
  const listed = [...overview.matchAll(/href="\/docs\/([a-z-]+)"/g)].map(([, name]) => name)
  const guides = listed.filter((name) => name !== 'api')
  t.same([...guides].sort(), [...names].sort())
  t.equal(guides[0], 'quick-start', 'a newcomer begins there')
  for (const [index, name] of guides.entries()) {
    const { status, text } = await stranger.get(`/docs/${name}`)
    t.equal(status, 200, `${name} has a page`)
    const next = /rel="next" href="\/docs\/([a-z-]+)"/.exec(text)?.[1]
    t.equal(next, guides[index + 1], `what follows ${name}`)
    t.equal(text.match(/<h1/g)?.length, 1, `${name} has one title`)
  }
  t.match(await stranger.get('/docs/nothing'), { status: 404 })
  t.match((await stranger.get('/docs/api')).text, /API reference/, 'the reference is beside them')
})

t.test('what a guide links to is there', async (t) => {
  const pages = new Map<string, string>()
  for (const name of names) {
    const { lede, html } = renderGuide(guideText(name))
    pages.set(`/docs/${name}`, lede + html)
  }
  for (const [path, markup] of pages) {
    for (const [, href = ''] of markup.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
      const { pathname, hash, origin } = new URL(href, `http://localhost:8080${path}`)
      if (origin !== 'http://localhost:8080') continue
      const target = pages.get(pathname)
      if (hash) t.match(target, new RegExp(`id="${hash.slice(1)}"`), `${path} → ${href}`)
      else if (pathname.startsWith('/docs/') && pathname !== '/docs/api') t.ok(target, `${path} → ${href}`)
      // The link may lead to any existing page; a page for signed-in players redirects to the sign-in.
      else t.ok([200, 303].includes((await stranger.get(pathname)).status), `${path} → ${href}`)
    }
  }
})

t.test('placeholders are whole wherever they stand, and become the address of this platform', async (t) => {
  const origins = {
    portal: 'https://yard.example',
    game: (slug: string) => `https://${slug}.play.example`,
    byPort: false,
  }
  for (const name of names) {
    const source = guideText(name)
    const { lede, html } = renderGuide(source)
    t.match(lede, /^<p>.+<\/p>\n$/s, `${name} begins with what it is about`)
    for (const placeholder of ['http://localhost:8080', 'http://my-game.localhost:8080', 'YOUR_CLIENT_ID']) {
      const inCode = [...source.matchAll(/^```.*\n([\s\S]*?)^```$/gm)].map(([, code]) => code ?? '').join('')
      const inPage = [...html.matchAll(/<code>([\s\S]*?)<\/code>/g)].map(([, code]) => seen(code ?? '')).join('')
      const wanted = inCode.split(placeholder).length
      t.ok(html.split(placeholder).length >= wanted, `${placeholder} in ${name} is not cut by colours`)
      t.ok(inPage.split(placeholder).length >= wanted)
    }
    t.notMatch(fillIn(lede + html, origins, null), /localhost:8080/, name)
  }
  const game = { slug: 'duo', title: 'Duo', clientId: 'svc_client_x', url: 'https://duo.play.example/start?x' }
  t.equal(
    fillIn(
      'http://my-game.localhost:8080/a http://localhost:8080 --game my-game YOUR_CLIENT_ID my-gamer',
      origins,
      game,
    ),
    'https://duo.play.example/a https://yard.example --game duo svc_client_x my-gamer',
  )
  const byPort = { ...origins, byPort: true, game: () => 'https://yard.example:0' }
  t.match(fillIn('http://my-game.localhost:8080', byPort, null), 'http://my-game.localhost:8080')
  const evil = { ...game, slug: '"><script>', clientId: '<b>', url: 'https://duo.play.example' }
  t.notMatch(fillIn('my-game YOUR_CLIENT_ID', origins, evil), /[<"]/)
})

t.test('whoever is signed in reads their own names in the snippets, of the game that they choose', async (t) => {
  const maker = await platform.signUp()
  t.match((await maker.get('/docs/sign-in')).text, /YOUR_CLIENT_ID/, 'without a game the placeholder stays')
  const first = await platform.game(maker, { title: 'First <one>' })
  const one = (await maker.get('/docs/sign-in')).text
  t.match(one, first.clientId)
  t.match(one, 'First &lt;one>')
  const second = await platform.game(maker, { title: 'Second' })
  const newest = (await maker.get('/docs/sign-in')).text
  t.match(newest, second.clientId)
  t.match(seen(newest), `${second.url}/auth/service/session`)
  t.match((await maker.get(`/docs/sign-in?game=${first.slug}`)).text, first.clientId)
  const other = await platform.signUp()
  t.notMatch((await other.get(`/docs/sign-in?game=${first.slug}`)).text, first.clientId, "nobody reads another's")
})

t.test('search finds the section that is about it, without a script and as JSON', async (t) => {
  const find = async (q: string) => (await stranger.get(`/api/docs/search?q=${encodeURIComponent(q)}`)).body.sections
  t.match(await find('previews'), [{ href: '/docs/deploys#previews', guide: 'Deploys', heading: 'Previews' }])
  t.match(
    (await find('roll ba')).slice(0, 1),
    [{ href: /^\/docs\/deploys/ }],
    'the last word may be the beginning of one',
  )
  t.match(
    (await find('conformance suite'))
      .slice(0, 3)
      .map(({ href }: { href: string }) => href)
      .join(),
    /writing-a-driver/,
  )
  t.same(await find('zzzqqq'), [])
  t.same(await find('<>()[\\'), [])
  const [found] = await find('idempotency')
  t.match(found.excerpt[1], /^idempotency$/i, 'what matched stands at odd places')
  const excerpts = (await find('rooms')).map(({ excerpt }: { excerpt: string[] }) => excerpt.join(''))
  t.notMatch(excerpts.join('\n'), /my-game|doctype/, 'sentences stand for a section, not its code')
  const [inCode] = await find('doctype')
  t.match(inCode.excerpt.join(''), /doctype/, 'but where only the code has the word')
  t.match((await stranger.get('/api/docs/search')).status, 400)

  const page = (await stranger.get('/docs?q=preview')).text
  t.match(page, /href="\/docs\/deploys#previews"/)
  t.match(page, /<mark>Preview/i)
  t.match(page, /value="preview"/)
  const none = (await stranger.get(`/docs?q=${encodeURIComponent('<img src=x>')}`)).text
  t.match(none, /Nothing about/)
  t.notMatch(none, /<img src=x>/)
})

inFull(t)?.test('the guides are comfortable to read, search and print, with and without a script', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const maker = await platform.signUp()
  await platform.game(maker, { title: 'One' })
  await platform.game(maker, { title: 'Two' })
  const all = ['/docs', '/docs?q=token', '/docs/sign-in', '/docs/cli']
  const looks = [
    { colorScheme: 'light', width: 1280, paths: all },
    { colorScheme: 'dark', width: 390, paths: all },
    { colorScheme: 'dark', width: 1280, paths: ['/docs/writing-a-plugin'] },
    { colorScheme: 'light', width: 390, paths: ['/docs/writing-a-plugin'] },
  ] as const
  for (const { colorScheme, width, paths } of looks) {
    const { page, complaints, context } = await openPage(browser, { colorScheme, viewport: { width, height: 900 } })
    await signIn(context, maker)
    for (const path of paths) {
      await page.goto(portal + path)
      const title = `${path} ${width} ${colorScheme}`
      await expectNoAxeViolations(t, page, `axe finds nothing on ${title}`)
      await expectNoOverflow(t, page, `nothing sticks out on ${title}`)
      await screenshot(page, `docs${path.replace(/\W+/g, '-')}-${width}-${colorScheme}`)
    }
    t.same(complaints, [], `no complaint at ${width} ${colorScheme}`)
    await context.close()
  }

  await t.test('search is live, by keyboard alone', async (t) => {
    const { page } = await openPage(browser)
    await page.goto(`${portal}/docs/rooms`)
    await page.keyboard.press('/')
    await page.keyboard.type('previews')
    await page.waitForSelector('.guide-found a[href="/docs/deploys#previews"]')
    await expectNoAxeViolations(t, page, 'axe finds nothing with results open')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/deploys#previews/)
    await page.keyboard.press('/')
    await page.keyboard.type('zzzqqq')
    // Nothing is found for the first half either, and an answer after Escape would open the list again.
    await page.locator('.guide-found .none', { hasText: 'zzzqqq' }).waitFor()
    await page.keyboard.press('Escape')
    t.equal(await page.isVisible('.guide-found'), false)
  })

  await t.test('a snippet is copied with the names of the reader', async (t) => {
    const { page, context } = await openPage(browser)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: portal })
    await signIn(context, maker)
    await page.goto(`${portal}/docs/deploys`)
    await page.click('figure:has-text("gameyard init") .copy')
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    t.match(copied, /gameyard init --game two/)
  })

  await t.test('without a script it reads and searches', async (t) => {
    const { page } = await openPage(browser, { javaScriptEnabled: false })
    await page.goto(`${portal}/docs/rooms`)
    t.equal(await page.isVisible('.copy'), false, 'no button that does nothing')
    await page.fill('[name=q]', 'preview')
    await page.press('[name=q]', 'Enter')
    await page.click('text=Previews')
    t.match(page.url(), /\/docs\/deploys#previews/)
    await page.emulateMedia({ media: 'print' })
    t.equal(await page.isVisible('.guide-nav'), false, 'paper has the text alone')
    t.equal(await page.isVisible('.prose h2'), true)
  })
})

async function signIn(context: import('playwright-core').BrowserContext, player: PlayerClient): Promise<void> {
  const cookies = [...player.cookiesOf()].map(([name, value]) => ({ name, value, url: portal }))
  await context.addCookies(cookies)
}

t.test('the quick start makes a game of its own, so it is not filled in with another game of the reader', async (t) => {
  const owner = await platform.signUp()
  const { slug } = await platform.game(owner, { title: 'Marbles' })
  t.match((await owner.get('/docs/deploys')).text, `http://${slug}.localhost`)
  const { text } = await owner.get('/docs/quick-start')
  t.match(text, 'http://my-game.localhost')
  t.notMatch(text, `${slug}.localhost`)
})
