// The page Code where the same draft is changed elsewhere at the same time: in another tab, or by a publish.
import t from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { withGame } from './kit.ts'

t.setTimeout(timeLimit(600))

t.test(
  'a save over a change that the tab has not seen asks whose text stays, and what was not sent is kept',
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const { platform, player, textOf, save } = await withGame(t)
    const { page, context } = await signedIn(browser, platform.portal, player, {})
    page.setDefaultTimeout(120_000)
    await page.goto('/games/pond/code')
    const text = page.locator('.cm-content')
    await text.click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await context.setOffline(true)
    await page.keyboard.type('mine')
    await page.getByText('No connection. Your text is kept in this browser.').waitFor()
    await save('index.html', '<h1>theirs</h1>')
    await context.setOffline(false)
    await page.getByText('You, in another tab, changed this file').waitFor()
    t.equal(await textOf('index.html'), '<h1>theirs</h1>', 'nothing is written over it')
    await page.reload()
    await page.getByText('changed this file').waitFor()
    await text.getByText('mine').waitFor()
    t.pass('the text survives a closed tab')
    await text.click()
    await page.keyboard.type('more')
    await text.getByText('more').waitFor()
    await page.reload()
    await page.getByText('changed this file').waitFor()
    await text.getByText('more').waitFor()
    t.equal(await textOf('index.html'), '<h1>theirs</h1>', 'and so does the question, whatever is typed meanwhile')
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    t.match(await textOf('index.html'), 'mine')

    await context.setOffline(true)
    await text.click()
    await page.keyboard.type('kept')
    await page.getByText('No connection. Your text is kept in this browser.').waitFor()
    await player.delete('/api/games/pond/draft/files/index.html')
    await context.setOffline(false)
    await page.getByText('changed this file').waitFor()
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await until(async () => (await textOf('index.html')).includes('kept'))
    t.pass('the text of a removed file is kept too')
  },
)

t.test(
  'a change from elsewhere during a save is shown after it, and a draft that is thrown away is gone',
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const { platform, player, textOf, save } = await withGame(t)
    const { page } = await signedIn(browser, platform.portal, player, {})
    page.setDefaultTimeout(120_000)
    await page.goto('/games/pond/code')
    const text = page.locator('.cm-content')
    await text.click()
    await page.getByText('Saved', { exact: true }).waitFor()
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    await page.route('**/draft/files/index.html', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      const response = await route.fetch()
      arrived.resolve()
      await release.promise
      await route.fulfill({ response })
    })
    await page.keyboard.type('mine')
    await arrived.promise
    await save('frog.md', 'A frog.')
    // The page hears of it before it has the answer to its save.
    await page.waitForTimeout(500)
    release.resolve()
    await page.locator('.code-tree').getByText('frog.md').waitFor()
    t.pass('the file is in the tree')

    await page.unrouteAll({ behavior: 'wait' })
    await page.getByText('Saved', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Publish', exact: true }).click()
    await page.getByRole('button', { name: 'Publish now' }).click()
    await page.getByText('Your game is live').waitFor()
    await save('frog.md', 'Two frogs.')
    await page.getByRole('button', { name: 'Throw away' }).waitFor()
    await page.route('**/draft/files/index.html', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    )
    await text.click()
    await page.keyboard.type('unsent')
    await page.getByText('No connection. Your text is kept in this browser.').waitFor()
    await page.getByRole('button', { name: 'Throw away' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Throw away' }).click()
    await text.getByText('unsent').waitFor({ state: 'detached' })
    await text.getByText('mine').waitFor()
    t.pass('a text that was not sent is thrown away with the rest')
    await page.unrouteAll({ behavior: 'wait' })
    t.match(await textOf('index.html'), 'mine')
  },
)

for (const { title, held, followed } of [
  {
    title: 'a text that is saved before the page knows its new revision',
    held: '**/draft/files/index.html',
    // The other refresh could take the new revision before the save.
    followed: false,
  },
  {
    title: 'a text that is typed before the page reads the draft, twice',
    held: /\/api\/games\/\w+\/draft$/,
    followed: true,
  },
]) {
  t.test(`after a publish no conflict is said of ${title}`, async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const { platform, player, textOf, save } = await withGame(t)
    await save('index.html', '<title>Pond</title>\n')
    const { page } = await signedIn(browser, platform.portal, player, { viewport: { width: 1280, height: 844 } })
    page.setDefaultTimeout(120_000)
    if (!followed) await page.route('**/live/**', (route) => route.abort())
    await page.goto('/games/pond/code')
    const text = page.locator('.cm-content')
    const saved = page.getByText('Saved', { exact: true })
    await text.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('a')
    await until(async () => (await textOf('index.html')).startsWith('a<'))
    await saved.waitFor()
    await page.getByRole('button', { name: 'Publish', exact: true }).click()
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const expected = followed ? 2 : 1
    let answers = 0
    await page.route(held, async (route) => {
      if (route.request().method() !== 'GET' || answers === expected) return route.continue()
      const response = await route.fetch()
      if (++answers === expected) arrived.resolve()
      await release.promise
      await route.fulfill({ response })
    })
    const refused = followed ? null : page.waitForResponse((response) => response.status() === 409)
    await page.getByRole('button', { name: 'Publish now' }).click()
    await arrived.promise
    await text.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('b')
    if (refused) {
      await refused
      await until(async () => (await textOf('index.html')).startsWith('ba<'))
      t.pass('the text is saved with the new revision')
    }
    release.resolve()
    await page.getByText('Your game is live').waitFor()
    await page.keyboard.type('c')
    await until(async () => (await textOf('index.html')).startsWith('bca<'))
    await saved.waitFor()
    t.equal(await page.getByText('changed this file').count(), 0)
  })
}
