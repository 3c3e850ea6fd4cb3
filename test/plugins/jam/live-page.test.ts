// The page of the jam in a real browser: it follows what the organiser changes, without losing input.
import t, { type Test } from 'tap'
import { expectNoAxeViolations, openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.setTimeout(timeLimit(240))

/** Starts a platform on a port with an organiser, and a player who has a game. */
async function open(t: Test) {
  const browser = await openBrowser(t)
  if (!browser) return null
  const platform = await startPlatform(t, { listen: true, config: { auth: { guests: true } } })
  const organiser = await platform.admin()
  const maker = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(maker, { title: 'Pong', url: 'https://pong.example.org' })
  await platform.game(maker, { title: 'Snake', url: 'https://snake.example.org' })
  const phone = { viewport: { width: 390, height: 844 } }
  return { browser, platform, organiser, maker, game, phone }
}

t.test('the page of a jam shows each new phase at once, without a reload by hand', async (t) => {
  const opened = await open(t)
  if (!opened) return
  const { browser, platform, organiser, maker, game, phone } = opened
  const { page, complaints } = await signedIn(browser, platform.portal, await platform.signUp({ name: 'Ben' }), phone)
  // Without timers the page learns of a change only from the stream, and not from its regular requests.
  await page.clock.install({ time: 0 })
  await page.clock.pauseAt(1000)
  await page.goto('/jam')
  await page.getByText('No jam yet').waitFor()

  await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  await page.getByRole('heading', { name: 'Yard jam' }).waitFor()
  await page.getByText('submissions open', { exact: true }).waitFor()

  await maker.post('/api/jam/entries', { gameId: game.id })
  await organiser.patch('/api/jam', { submissionsOpen: false, votingOpen: true })
  await page.getByLabel('Fun').waitFor()
  await organiser.patch('/api/jam', { votingOpen: false })
  await page.getByText('closed for now').waitFor()
  await organiser.patch('/api/jam', { revealed: 1 })
  await page.getByRole('link', { name: 'See the results' }).waitFor()
  await organiser.patch('/api/jam', { title: 'Fence jam' })
  await page.getByRole('heading', { name: 'Fence jam' }).waitFor()
  await organiser.post('/api/jam', { title: 'Next jam' })
  await page.getByRole('heading', { name: 'Next jam' }).waitFor()
  t.same(complaints, [])
})

t.test('a change leaves a form alone that is being filled in, and says so with a link', async (t) => {
  const opened = await open(t)
  if (!opened) return
  const { browser, platform, organiser, maker, game, phone } = opened
  await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  await maker.post('/api/jam/entries', { gameId: game.id })
  const { page } = await signedIn(browser, platform.portal, maker, phone)
  const news = page.locator('.jam-news')

  await page.goto('/jam?done=submitted')
  await page.getByLabel('Game', { exact: true }).focus()
  await organiser.patch('/api/jam', { votingOpen: true })
  await page.getByRole('status').getByText('Voting has opened. Reload the page').waitFor()
  t.ok(await page.getByText('Your game takes part.').isVisible(), 'it is the same page')
  await expectNoAxeViolations(t, page)
  await organiser.patch('/api/jam', { votingOpen: false })
  await news.getByText('Voting').waitFor({ state: 'detached' })
  t.equal(await news.textContent(), '', 'what was taken back is no news')
  await organiser.patch('/api/jam', { submissionsOpen: false })
  await news.getByText('Submissions have closed.').waitFor()
  await news.getByRole('link').click()
  await page.getByText('Submissions are closed. Not in the jam: Snake').waitFor()
  t.equal(new URL(page.url()).search, '')

  const organising = await signedIn(browser, platform.portal, organiser, phone)
  await organising.page.goto('/jam')
  const theme = organising.page.getByLabel('Theme')
  await theme.fill('Fences')
  await theme.blur()
  await platform.app.jams.change({ votingOpen: true })
  await organising.page.getByRole('status').getByText('Voting has opened.').waitFor()
  t.equal(await theme.inputValue(), 'Fences', 'a value that was not sent stays')
  await theme.fill('')
  await theme.blur()
  await organising.page.getByText('voting open', { exact: true }).waitFor()
  t.equal(await organising.page.locator('.jam-news').textContent(), '', 'without input the page is loaded again')
})

t.test("the organiser's steps on the projector follow a change on another device", async (t) => {
  const opened = await open(t)
  if (!opened) return
  const { browser, platform, organiser, maker, game } = opened
  await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  await maker.post('/api/jam/entries', { gameId: game.id })
  await organiser.patch('/api/jam', { votingOpen: true })
  const { page } = await signedIn(browser, platform.portal, organiser, { viewport: { width: 1280, height: 720 } })
  const { page: audience } = await openPage(browser, { baseURL: platform.portal })
  for (const each of [page, audience]) await each.goto('/jam/results')
  await page.getByText('Close the voting').waitFor()
  await organiser.patch('/api/jam', { votingOpen: false })
  await page.getByRole('button', { name: 'Reveal the first' }).waitFor()
  await organiser.patch('/api/jam', { revealed: 1 })
  for (const each of [page, audience]) await each.getByText('Nobody voted here.').waitFor()
  await page.getByText('1 of 1').waitFor()
})
