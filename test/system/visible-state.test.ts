// What pages show of their state without colours, on a phone, and after an action. In Chromium.
import type { Page } from 'playwright-core'
import { PNG } from 'pngjs'
import t from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { startPlatform } from '../kit/platform.ts'
import { signedIn } from '../kit/portal-pages.ts'
import { until } from '../kit/until.ts'
import { form } from '../plugins/assets/kit.ts'
import { sheet } from '../plugins/assets/models.ts'

t.test('what is chosen is seen in forced colours, rows that scroll show it, scores have one line', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true, config: { portal: { designPage: true } } })
  const owner = await platform.signUp({ name: 'Ada-Marie von und zu Hohenstein-Württemberg the Second' })
  const game = await platform.game(owner)
  const { boards } = platform.app.scores
  await boards.put(game.id, 'laps', { title: 'Laps', reset: 'weekly' })
  for (const player of [owner, ...(await Promise.all([0, 1, 2].map(() => platform.signUp())))]) {
    const score = { gameId: game.id, boardId: 'laps', playerId: player.id, score: player === owner ? 1 : 1_234_567 }
    await platform.app.scores.submit({ ...score, writer: 'players' })
  }
  const board = `/games/${game.slug}/boards/laps`
  const forced = await signedIn(browser, platform.portal, owner, {
    viewport: { width: 1280, height: 900 },
    forcedColors: 'active',
  })
  let seen = 0
  for (const path of [
    '/catalog',
    `/games/${game.slug}/analytics`,
    board,
    '/settings',
    '/design/thing',
    '/design/forms',
  ]) {
    await forced.page.goto(path)
    for (const { name, differs } of await chosenIn(forced.page)) {
      t.ok(differs, `${path}: ${name} differs from what is not chosen`)
      seen++
    }
  }
  t.ok(seen >= 10, `${seen} are chosen`)

  const { page } = await signedIn(browser, platform.portal, owner, { viewport: { width: 390, height: 844 } })
  await page.goto(`/games/${game.slug}/analytics`)
  for (const row of ['.tabs', '.area']) {
    await page.locator(row).evaluate((element) => element.scrollTo({ left: 0, behavior: 'instant' }))
    const before = await edgesOf(page, row)
    await page.locator(row).evaluate((element) => element.scrollTo({ left: 9999, behavior: 'instant' }))
    const after = await edgesOf(page, row)
    t.ok(after.right - before.right > 15, `${row}: darker at its right while there is more, ${before.right}`)
    t.ok(before.left - after.left > 15, `${row}: then at its left, ${after.left}`)
  }
  await page.goto(board)
  const heights = await page
    .locator('.board-name')
    .evaluateAll((names) => names.map(({ clientHeight }) => clientHeight))
  t.equal(heights.length, 4)
  t.equal(new Set(heights).size, 1, `each name has one line: ${heights}`)
})

t.test('a message that is closed gives the focus back', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const { payload, headers } = form(await sheet(4), { title: 'Sheet' })
  const { status } = await (await platform.program(owner)).request('POST', '/api/assets', payload, { headers })
  t.equal(status, 201)
  const { page } = await signedIn(browser, platform.portal, owner, { viewport: { width: 1280, height: 900 } })
  // A message goes after six seconds, which a slow machine may need.
  await page.addInitScript(`{
    const { setTimeout } = window
    window.setTimeout = (work, ms, ...rest) => (ms === 6000 ? 0 : setTimeout(work, ms, ...rest))
  }`)
  await page.goto('/assets/sheet')
  await page.getByRole('button', { name: 'Publish' }).press('Enter')
  await page.getByText('It is public: anybody may load it.').waitFor()
  const edit = page.getByRole('link', { name: 'Edit' })
  await edit.focus()
  await page.getByRole('button', { name: 'Close' }).focus()
  await page.keyboard.press('Enter')
  t.ok(await until(() => edit.evaluate((link) => link === document.activeElement)))
})

/** Returns what is chosen on a page, and whether its shape differs from that of another one of its row. */
const chosenIn = (page: Page) =>
  page.evaluate(() => {
    const shapeOf = (element: Element) => {
      const { outlineStyle, outlineWidth, borderWidth, borderColor, backgroundColor } = getComputedStyle(element)
      return [outlineStyle === 'none' ? '' : outlineWidth, borderWidth, borderColor, backgroundColor].join()
    }
    const CHOSEN = '[aria-current], [aria-pressed="true"], [aria-selected="true"]'
    return [...document.querySelectorAll(CHOSEN)].flatMap((element) => {
      const row = element.closest('ul, ol, .row, .theme, nav')
      const others = [...(row?.querySelectorAll(element.tagName) ?? [])].filter((other) => !other.matches(CHOSEN))
      if (others.length === 0 || element.checkVisibility() === false) return []
      const name = `${row?.className || row?.parentElement?.className} “${element.textContent?.trim()}”`
      return [{ name, differs: others.every((other) => shapeOf(other) !== shapeOf(element)) }]
    })
  })

/** Returns how light a row is at its edges, 0 to 255. */
async function edgesOf(page: Page, row: string): Promise<{ left: number; right: number }> {
  const { data, width } = PNG.sync.read(await page.locator(row).screenshot())
  // Above the texts there is nothing but the ground.
  const at = (x: number) => data[(3 * width + x) * 4] ?? 0
  return { left: at(1), right: at(width - 2) }
}
