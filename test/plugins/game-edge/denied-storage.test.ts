// A browser that blocks the cookies of other sites denies all storage to a game on its play page. Two sites behind a TLS
// proxy, in the full Chromium with such a profile.
import t from 'tap'
import { openProfile, WITH_THIRD_PARTY_COOKIES } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { until } from '../../kit/until.ts'
import { deploy } from './kit.ts'

const BLOCKING = { profile: { cookie_controls_mode: 1, block_third_party_cookies: true } }
const PAGE = `<!doctype html><title>Coins</title><body><script>
localStorage.setItem('coins', 7)
localStorage.level = 2
sessionStorage.setItem('run', '1')
const kept = { ...localStorage, gone: localStorage.getItem('gone'), length: localStorage.length, first: typeof localStorage.key(0) }
delete localStorage.level
document.body.dataset.kept = JSON.stringify([kept, 'level' in localStorage, Object.keys(localStorage), sessionStorage.run])
</script>`
const KEPT = [{ coins: '7', level: '2', gone: null, length: 2, first: 'string' }, false, ['coins'], '1']

t.test('a game runs where the browser denies it storage, and the play page offers its own address', async (t) => {
  const platform = await startPlatform(t, { listen: true, config: BEHIND_PROXY })
  const proxy = await startTlsProxy(t, platform.app.server.address() as { port: number })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner)
  await deploy(platform, await platform.program(owner), game.id, { 'index.html': PAGE })
  for (const [preferences, isDenied] of [
    [BLOCKING, true],
    [WITH_THIRD_PARTY_COOKIES, false],
  ] as const) {
    const context = proxy && (await openProfile(t, preferences, proxy.chromiumFlags))
    if (!context) return
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', ({ message }) => complaints.push(message))
    for (const who of ['visitor', 'player']) {
      if (who === 'player') {
        await page.goto(`${platform.portal}/sign-in`)
        await page.locator('input[name=email]').fill(owner.account.email)
        await page.locator('input[name=password]').fill(owner.account.password)
        await page.locator('input[name=password]').press('Enter')
        await page.waitForURL(`${platform.portal}/`)
      }
      await page.goto(String(game.playUrl))
      const kept = page.frameLocator('.play iframe').locator('body[data-kept]')
      t.same(
        JSON.parse(String(await kept.getAttribute('data-kept'))),
        KEPT,
        `${who}, ${isDenied ? 'denied' : 'allowed'}`,
      )
      const note = page.locator('[data-no-storage]')
      if (!isDenied) {
        t.notOk(await note.isVisible())
        continue
      }
      await note.waitFor()
      t.equal(await note.getByRole('link').getAttribute('href'), `${platform.app.origins.game(game.slug)}/`)
    }
    t.same(complaints, [])
    if (isDenied) {
      await page.getByRole('link', { name: 'Open it on its own' }).click()
      await until(async () => new URL(page.url()).host === platform.gameHost(game.slug))
      t.same(
        JSON.parse(String(await page.locator('body[data-kept]').getAttribute('data-kept'))),
        KEPT,
        'and it keeps there',
      )
      await page.reload()
      t.equal(await page.evaluate('localStorage.coins'), '7')
    }
    await context.close()
  }
})
