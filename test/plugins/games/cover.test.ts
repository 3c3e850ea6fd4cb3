// A game that begins with a press: nothing of it is loaded before, and then it has the keyboard and may sound. In
// Chromium.
import type { Page } from 'playwright-core'
import t from 'tap'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'

const GAME = `<!doctype html><html lang="en"><head><title>Game</title><script>
window.keys = []
addEventListener('keydown', ({ key }) => keys.push(key))
window.sound = new AudioContext()
</script></head><body><input aria-label="Name"></body></html>`

const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.tagName')

t.test(
  'a game with a cover is loaded when it is started, and has the keyboard then',
  {
    timeout: timeLimit(120),
  },
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    const owner = await platform.signUp()
    const game = await platform.game(owner, {
      title: 'かくれんぼ',
      features: { languages: ['ja', 'en'] },
      settings: { clickToStart: true },
    })
    await deploy(platform, await platform.program(owner), game.id, { 'index.html': GAME })
    const origin = platform.app.origins.game(game.slug)
    const visitor = await openPage(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    const player = await signedIn(browser, platform.portal, await platform.signUp(), {
      viewport: { width: 1280, height: 800 },
    })
    for (const [who, { page, complaints }] of Object.entries({ visitor, player })) {
      const loaded: string[] = []
      page.on('request', (request) => request.url().startsWith(origin) && loaded.push(request.url()))
      await page.goto(game.playUrl)
      const start = page.getByRole('button', { name: 'Start かくれんぼ' })
      await start.waitFor()
      t.equal(await page.locator('iframe').count(), 0)
      t.same(loaded, [], `${who}: nothing of the game is loaded before`)
      t.notOk(await page.locator('[data-full-screen]').isVisible(), 'there is no full screen of nothing')
      await screenshot(page, `cover-${who}`)
      if (who === 'visitor') await expectNoAxeViolations(t, page, 'the cover')

      // The browser begins here, as after a click into the page.
      await page.locator('.play-name').click({ position: { x: 1, y: 1 } })
      while ((await focused(page)) !== 'BUTTON') await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.frameLocator('.play iframe').getByLabel('Name').waitFor()
      t.ok(await until(async () => (await focused(page)) === 'IFRAME'), 'the focus goes into the game')
      const frame = page.frames().find((one) => one.url().startsWith(origin))
      await page.keyboard.press('ArrowDown')
      t.same(await until(async () => (await frame?.evaluate('keys')) as string[]), ['ArrowDown'])
      t.equal(await frame?.evaluate('sound.state'), 'running', 'and sound works')
      t.equal(await page.locator('[data-cover]').count(), 0)
      t.ok(await page.locator('[data-full-screen]').isVisible())

      await page.getByRole('link', { name: 'Open on its own' }).press('Enter')
      await page.waitForURL(`${origin}/`)
      await page.goBack()
      await page.waitForURL(game.playUrl)
      await start.press('Enter')
      await page.frameLocator('.play iframe').getByLabel('Name').waitFor()
      t.same(
        complaints.filter((text) => !/favicon|404/.test(text)),
        [],
      )
    }

    t.comment('its title is in its language')
    const { page } = visitor
    for (const place of ['h1 bdi', '#about-game h2 bdi', '.play iframe'])
      t.equal(await page.locator(place).getAttribute('lang'), 'ja', place)
    await platform.game(owner, { title: 'Plain', features: { languages: ['en-GB', 'ja'] } })
    await page.goto(`${platform.portal}/`)
    const langs = await page
      .locator('.game-title bdi')
      .evaluateAll((titles) => titles.map((title) => [title.textContent, title.getAttribute('lang')]))
    t.match(langs, [['かくれんぼ', 'ja']])
    t.match((await platform.stranger.get('/games/plain')).text, '<h1><bdi>Plain</bdi></h1>', 'English ones have none')
    t.match((await platform.stranger.get('/feed.xml')).text, '<title xml:lang="ja">かくれんぼ</title>')

    t.comment('without scripts there is a link')
    const plain = await openPage(browser, { javaScriptEnabled: false })
    await plain.page.goto(game.playUrl)
    t.notOk(await plain.page.locator('[data-start]').isVisible())
    await plain.page.getByRole('link', { name: 'Open かくれんぼ on its own' }).click()
    await plain.page.waitForURL(`${origin}/`)
    await plain.page.goBack()
    t.equal(plain.page.url(), game.playUrl)
  },
)
