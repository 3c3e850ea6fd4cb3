// Where the focus is after an action, and what screen readers are told meanwhile. In Chromium, by keyboard.
import type { Page } from 'playwright-core'
import t from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { startPlatform } from '../kit/platform.ts'
import { signedIn } from '../kit/portal-pages.ts'
import { until } from '../kit/until.ts'

const focused = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate((selector) => document.activeElement?.matches(selector) === true, selector)

t.test('results take the focus once, menus close, and a busy button keeps it', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const { page } = await signedIn(browser, platform.portal, player, { viewport: { width: 1280, height: 800 } })

  await page.goto('/settings/tokens')
  await page.getByLabel('Label').fill('laptop')
  await page.keyboard.press('Enter')
  await page.locator('[data-result]:focus').waitFor()
  t.pass('the new token')
  await page.goto('/settings/tokens')
  await page
    .getByRole('button', { name: /Revoke/ })
    .first()
    .press('Enter')
  await page.locator('.flash:focus').waitFor()
  t.pass('what was done')
  await page.reload()
  t.ok(await focused(page, 'body'), 'a page that is loaded again does not take it')

  const menu = page.locator('details.menu')
  await menu.locator('summary').press('Enter')
  t.equal(await menu.getAttribute('open'), '')
  await page.keyboard.press('Shift+Tab')
  t.equal(await menu.getAttribute('open'), null, 'a menu closes when the focus leaves it')

  await page.goto(`/games/${game.slug}/deploys`)
  const said =
    "window.said = []; new MutationObserver(() => said.push(document.querySelector('body > [role=status]')?.textContent)).observe(document.body, { childList: true, subtree: true, characterData: true })"
  await page.evaluate(said)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let requests = 0
  await page.route('**/deploys', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    requests++
    await held
    await route.abort()
  })
  await page.setInputFiles('input[type=file]', {
    name: 'game.zip',
    mimeType: 'application/zip',
    buffer: Buffer.alloc(2 ** 20),
  })
  const publish = page.getByRole('button', { name: 'Publish' })
  await publish.focus()
  await page.keyboard.press('Enter')
  t.ok(await until(async () => (await publish.getAttribute('aria-disabled')) === 'true'))
  t.ok(await publish.evaluate((button) => button === document.activeElement), 'the busy button keeps the focus')
  await page.keyboard.press('Enter')
  t.ok(await until(() => requests > 0))
  release()
  await page.getByRole('alert').filter({ hasText: 'The connection broke' }).waitFor()
  t.equal(requests, 1, 'a second press sends nothing')
  t.ok(await publish.evaluate((button) => button === document.activeElement))
  t.equal(await publish.getAttribute('aria-disabled'), null)
  const heard = (await page.evaluate<string[]>('said')).filter((text) => /%/.test(text ?? ''))
  t.same(
    heard.filter((text) => !/^(25|50|75) %$/.test(text)),
    [],
    'progress is said at quarters',
  )
})
