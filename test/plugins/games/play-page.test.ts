// The keyboard of the play page belongs to the game, and its frame may ask for what games need. In Chromium.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'

const page = (body: string) => `<!doctype html><html lang="en"><head><title>Game</title><script>
window.keys = []
addEventListener('keydown', ({ key }) => keys.push(key))
</script></head><body>${body}</body></html>`
const FILES = {
  'index.html': page('<canvas></canvas><input aria-label="Name">'),
  'long.html': page('<p style="height: 5000px">Long</p><input aria-label="Name">'),
}
const GAME_KEYS = ['ArrowDown', 'Space', 'ArrowRight', 'PageDown', 'End', 'ArrowUp']

const KEEPS_KEYS = `<script>
  for (const name of ['keydown', 'keyup'])
    addEventListener(name, (event) => { event.preventDefault(); event.stopImmediatePropagation() }, true)
</script>`

/** What the frame may use or ask for, and what it may not. */
const ALLOWED = [
  'gamepad',
  'fullscreen',
  'keyboard-map',
  'accelerometer',
  'gyroscope',
  'magnetometer',
  'microphone',
  'camera',
  'midi',
  'autoplay',
  'clipboard-write',
  'screen-wake-lock',
  'xr-spatial-tracking',
]
const REFUSED = ['geolocation', 'payment', 'usb', 'serial', 'hid', 'display-capture', 'clipboard-read', 'local-fonts']

t.test('the keyboard of the play page belongs to the game', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { description: 'A long description.\n\n'.repeat(50) })
  await deploy(platform, await platform.program(owner), game.id, FILES)
  const url = platform.app.origins.game(game.slug)
  const viewport = { width: 900, height: 600 }
  const visitor = await openPage(browser, { viewport })
  const player = await signedIn(browser, platform.portal, owner, { viewport })

  for (const [who, { page, complaints }] of Object.entries({ visitor, player })) {
    await page.goto(game.playUrl)
    const frame = await frameOf(page, url)
    t.ok(await until(() => focused(page, 'IFRAME')), `${who}: the game has the keyboard`)
    for (const key of GAME_KEYS) await page.keyboard.press(key)
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    t.same(await frame.evaluate('keys'), [...GAME_KEYS.map((key) => key.replace('Space', ' ')), 'g', 'p'])
    t.equal(await page.evaluate('scrollY'), 0, `${who}: and its keys scroll nothing`)
    await frame.evaluate("document.querySelector('input').focus()")
    await page.keyboard.type('a b')
    t.equal(await frame.evaluate("document.querySelector('input').value"), 'a b', 'a field takes the space')

    // A click beside the game takes the keyboard away, and one of its keys brings it back.
    await page.evaluate('document.activeElement.blur()')
    for (const key of ['g', 'p', '?', '/']) await page.keyboard.press(key)
    t.equal(page.url(), game.playUrl, 'no letter leads away')
    t.equal(await page.locator('dialog[open]').count(), 0)
    await page.keyboard.press('Space')
    t.ok(await until(() => focused(page, 'IFRAME')))
    t.equal(await page.evaluate('scrollY'), 0)

    await page.mouse.move(450, 590)
    await page.evaluate("document.querySelector('.under-play').scrollIntoView()")
    await page.evaluate('document.activeElement.blur()')
    const before = Number(await page.evaluate('scrollY'))
    t.ok(before > 0)
    await page.keyboard.press('ArrowDown')
    t.ok(await until(async () => Number(await page.evaluate('scrollY')) > before), 'where one reads, keys scroll')

    const may = (names: string[]) =>
      frame.evaluate(`${JSON.stringify(names)}.filter((name) => document.featurePolicy.allowsFeature(name))`)
    t.same(await may(ALLOWED), ALLOWED)
    t.same(await may(REFUSED), [])
    t.same(
      complaints.filter((text) => !/favicon|404/.test(text)),
      [],
    )
  }

  const { page } = visitor
  const isLoaded = page.waitForEvent('requestfinished', (request) => request.url() === `${url}/`)
  await page.route(/\/play\.[^/]+\.js$/, async (route) => {
    const loaded = await (await isLoaded).frame()
    await loaded.waitForLoadState()
    await route.continue()
  })
  await page.goto(game.playUrl)
  t.ok(await until(() => focused(page, 'IFRAME')), 'also when it has loaded before the script of the page')
  await page.unrouteAll()

  await page.goto(`${platform.portal}/catalog`)
  t.ok(await page.locator('[data-keys]').isVisible(), 'other pages have their shortcuts')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route(`${url}/`, async (route) => {
    await held
    await route.continue()
  })
  await page.goto(game.playUrl, { waitUntil: 'commit' })
  await page.locator('.bar a[href="/catalog"]').focus()
  release()
  const frame = await frameOf(page, url)
  await frame.waitForLoadState()
  await page.waitForLoadState()
  t.ok(await focused(page, 'A'), 'the game takes the keyboard from nothing that has the focus')

  await frame.evaluate("location.assign('/long.html')")
  const long = await frameOf(page, `${url}/long.html`)
  await long.waitForLoadState()
  await page.locator('.play iframe').focus()
  await long.waitForFunction('document.hasFocus()')
  const scrolls = async () => {
    await page.keyboard.press('PageDown') // the first keys have no effect in a frame that is not painted yet
    return Number(await long.evaluate('scrollY')) > 0
  }
  t.ok(await until(scrolls), 'a game that scrolls does')
  t.equal(await page.evaluate('scrollY'), 0)
})

t.test('a phone shows the title on one line, and who made the game below it', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'The Long Way Round the River', visibility: 'private' })
  await deploy(platform, await platform.program(owner), game.id, FILES)
  for (const width of [320, 390, 1280]) {
    const { page, context } = await signedIn(browser, platform.portal, owner, { viewport: { width, height: 700 } })
    await page.goto(game.playUrl)
    const title = await page.locator('.play-name h1').boundingBox()
    t.ok((title?.height ?? 100) < 40, `${width} px: the title has one line`)
    const about = page.locator('#about-game')
    t.ok(await about.getByRole('link', { name: await nameOf(owner) }).isVisible(), `${width} px: the maker is named`)
    t.ok(await about.getByText('private', { exact: true }).first().isVisible(), `${width} px: and the state`)
    await expectNoOverflow(t, page)
    await screenshot(page, `play-bar-${width}`)
    await context.close()
  }
})

t.test('without scripts the game of a player fills the window as well', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  await deploy(platform, await platform.program(owner), game.id, FILES)
  for (const [who, player] of Object.entries({ visitor: null, owner })) {
    const { page } = await openPage(browser, { javaScriptEnabled: false, viewport: { width: 390, height: 844 } })
    const cookies = [...(player?.cookiesOf() ?? [])].map(([name, value]) => ({ name, value, url: platform.portal }))
    await page.context().addCookies(cookies)
    await page.goto(game.playUrl)
    const [space, frame] = [await page.locator('.play').boundingBox(), await page.locator('.play iframe').boundingBox()]
    t.same(frame, space, who)
    t.ok((frame?.height ?? 0) > 400, `${who}: ${frame?.height} px`)
    await screenshot(page, `play-without-scripts-${who}`)
  }
})

t.test('a game on another server gets the keyboard from the player, and may give it back', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(`<input aria-label="Name">${KEEPS_KEYS}`)),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://elsewhere.localhost:${(server.address() as AddressInfo).port}`
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { url, settings: { embedded: true } })
  const { page: play } = await openPage(browser, { viewport: { width: 1280, height: 800 } })
  await play.goto(`${platform.portal}/games/${game.slug}`)
  const frame = await frameOf(play, url)
  await frame.waitForLoadState()
  await play.waitForLoadState()
  t.match(await play.locator('#play-keys').textContent(), /F6 leaves it/)
  t.ok(await focused(play, 'BODY'), 'it could keep the keyboard, so it does not get it at once')
  const about = play.getByRole('link', { name: 'About', exact: true })
  await until(async () => {
    await play.keyboard.press('Tab')
    return about.evaluate((link) => link === document.activeElement)
  })
  t.notOk(await focused(play, 'IFRAME'), 'what leads past the game stands before it')
  await play.evaluate('document.activeElement.blur()')
  await play.keyboard.press('ArrowDown')
  t.ok(await until(() => focused(play, 'IFRAME')), 'one of its keys gives it the keyboard')
  await frame.evaluate(`window.top.postMessage({ type: 'service:leave' }, '${platform.portal}')`)
  t.ok(await until(() => about.evaluate((link) => link === document.activeElement)))
})

t.test('a game that keeps all keys lets the keyboard out, and has the space that there is', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const files = { 'index.html': page(`<input aria-label="Name"><iframe srcdoc="<p>Part"></iframe>${KEEPS_KEYS}`) }
  await deploy(platform, await platform.program(owner), game.id, files)
  const player = await platform.signUp()
  const { page: play } = await signedIn(browser, platform.portal, player, { viewport: { width: 1280, height: 800 } })
  // Some phones have no full screen.
  await play.addInitScript("Object.defineProperty(document, 'fullscreenEnabled', { value: false })")
  await play.goto(game.playUrl)
  await frameOf(play, platform.app.origins.game(game.slug))
  t.ok(await until(() => focused(play, 'IFRAME')))
  for (let presses = 0; presses < 5; presses++) await play.keyboard.press('Tab')
  t.ok(await focused(play, 'IFRAME'), 'the game keeps Tab to itself')
  for (const key of ['Escape', 'Escape', 'a', 'Escape', 'Escape', 'Tab']) await play.keyboard.press(key)
  t.ok(await focused(play, 'IFRAME'), 'Escape three times in a row leaves it, and nothing less')
  for (let presses = 0; presses < 3; presses++) await play.keyboard.press('Escape')
  t.ok(await until(() => focused(play, 'A')))
  t.equal(await play.evaluate('document.activeElement.textContent'), 'About')
  const before =
    "[...document.querySelectorAll('main :is(h1, button, a, iframe)')].map((one) => one.textContent.trim())"
  t.same((await play.evaluate<string[]>(before)).slice(0, 5), [
    'Pong',
    await nameOf(owner),
    'Full screen',
    'About',
    'Report',
  ])
  await play.keyboard.press('Enter')
  await play.keyboard.press('Tab')
  t.ok(await until(() => play.evaluate("document.activeElement.closest('#about-game') !== null")), 'past the game')

  const space = () =>
    play.evaluate(() => {
      const { top, bottom } = (document.querySelector('.play iframe') as HTMLElement).getBoundingClientRect()
      return { top: Math.round(top), bottom: Math.round(innerHeight - bottom) }
    })
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 360, height: 640 },
    { width: 844, height: 390 },
  ]) {
    await play.setViewportSize(viewport)
    await play.goto('about:blank')
    await play.goto(game.playUrl)
    await until(async () => Math.abs((await space()).bottom) <= 1)
    const { top, bottom } = await space()
    t.ok(Math.abs(bottom) <= 1, `${viewport.width}: no pixel is cut off`)
    if (viewport.height === 390) t.equal(top, 48, 'on its side, only the bar of the game is above it')
  }
  await play.getByRole('button', { name: 'Full screen' }).press('Enter')
  t.ok((await space()).top < 48)
  t.equal((await space()).bottom, 0)
  await play.getByRole('button', { name: 'Exit full screen' }).press('Enter')
  t.equal(await play.evaluate('document.activeElement.textContent'), 'Full screen')
  t.ok(await until(async () => (await space()).top >= 48))
})

const nameOf = async (player: PlayerClient): Promise<string> => (await player.get('/api/auth/session')).body.user.name

const focused = (page: Page, tag: string): Promise<boolean> =>
  page.evaluate((tag) => document.activeElement?.tagName === tag, tag)

async function frameOf(page: Page, url: string): Promise<Frame> {
  await page.frameLocator('.play iframe').getByLabel('Name').waitFor()
  return (await until(() => page.frames().find((frame) => frame.url().startsWith(url)))) as Frame
}
