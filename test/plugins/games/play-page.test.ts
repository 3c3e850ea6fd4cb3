// The keyboard of the play page belongs to the game, and its frame may ask for what games need. In Chromium.
import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
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
  await page.locator('.play iframe').focus()
  await page.keyboard.press('PageDown')
  t.ok(await until(async () => Number(await long.evaluate('scrollY')) > 0), 'a game that scrolls does')
  t.equal(await page.evaluate('scrollY'), 0)
})

const focused = (page: Page, tag: string): Promise<boolean> =>
  page.evaluate((tag) => document.activeElement?.tagName === tag, tag)

async function frameOf(page: Page, url: string): Promise<Frame> {
  await page.frameLocator('.play iframe').getByLabel('Name').waitFor()
  return (await until(() => page.frames().find((frame) => frame.url().startsWith(url)))) as Frame
}
