// The page of the jam in a real browser: it follows what the organiser changes, without losing input.
import t, { type Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage } from '../../kit/browser.ts'
import { Client, startPlatform } from '../../kit/platform.ts'
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

t.test('a form that is on its way is not cancelled by the change that it makes', async (t) => {
  const opened = await open(t)
  if (!opened) return
  const { browser, platform, organiser, phone } = opened
  await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  const { page } = await signedIn(browser, platform.portal, organiser, phone)
  const { page: other } = await openPage(browser, { baseURL: platform.portal, ...phone })
  await other.goto('/jam')
  await page.goto('/jam')
  await page.route('**/jam/switch', async (route) => {
    const response = await route.fetch({ maxRedirects: 0 })
    await other.getByText('voting open', { exact: true }).waitFor()
    await page.context().request.get('/jam')
    await route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'Open voting' }).click()
  await page.getByText('Voting is open.').waitFor()
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

t.test(
  'the countdown follows the clock of the server, and times are entered and shown as the device writes them',
  async (t) => {
    const opened = await open(t)
    if (!opened) return
    const { browser, platform, organiser } = opened
    await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
    const { page } = await signedIn(browser, platform.portal, organiser, { timezoneId: 'Europe/Berlin' })
    // The clock of this device is years behind, and that of the server says 12:00 in UTC.
    await page.clock.install({ time: new Date('2001-01-01T00:00:00Z') })
    await page.goto('/jam')
    const { page: projector, complaints } = await openPage(browser, {
      baseURL: platform.portal,
      timezoneId: 'Asia/Tokyo',
    })
    await projector.goto('/jam/results')

    const field = page.getByLabel('Submissions end')
    await page.getByText('Time zone: Europe/Berlin').waitFor()
    await field.fill('2026-11-21T14:00')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    t.match((await organiser.get('/api/jam')).body, { deadline: '2026-11-21T13:00:00.000Z' })
    t.equal(await field.inputValue(), '2026-11-21T14:00')
    await page.getByText(/left to submit, until Nov 21, 2026, 2:00/).waitFor()
    await projector.getByText(/left to submit, until Nov 21, 2026, 10:00/).waitFor()
    await page
      .getByRole('timer')
      .getByText(/^59 min \d+ s$/)
      .waitFor()
    await projector
      .getByRole('timer')
      .getByText(/^59 min \d+ s$/)
      .waitFor()
    await organiser.patch('/api/jam', { deadline: '2026-11-21T12:00:30.000Z' })
    await projector
      .getByRole('timer')
      .getByText(/^2\d s$/)
      .waitFor()
    platform.clock.advance(40_000)
    await projector.getByText('Time is up.').waitFor()
    t.same(complaints, [])
    await expectNoAxeViolations(t, projector)
  },
)

t.test("games with long titles that share a place fit on a projector, above the organiser's buttons", async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true, config: { auth: { guests: true } } })
  const organiser = await platform.admin()
  const maker = await platform.signUp({ name: 'Ada-Marie von und zu Hohenstein-Württemberg' })
  await organiser.post('/api/jam', { title: 'Yard jam', categories: ['Three', 'Four', 'Eight'] })
  const games: string[] = []
  for (let index = 0; index < 8; index++) {
    const title = `${index} Extraordinarily Long Journeys of a Small Snail Across the Garden`
    const { id } = await platform.game(maker, { title, url: `https://game-${index}.example.org` })
    await maker.post('/api/jam/entries', { gameId: id })
    games.push(id)
  }
  await organiser.patch('/api/jam', { votingOpen: true })
  /** The games that voters choose, each one after another. */
  const votes = { three: [0, 1, 2], four: [0, 0, 0, 1, 1, 2, 3], eight: games.keys() }
  for (const [category, chosen] of Object.entries(votes))
    for (const index of chosen) {
      const voter = new Client(platform.app)
      await voter.post('/api/auth/guest', { name: 'Gus' })
      t.equal((await voter.put(`/api/jam/votes/${category}`, { gameId: games[index] })).status, 200)
    }
  await organiser.patch('/api/jam', { votingOpen: false })
  const { page } = await signedIn(browser, platform.portal, organiser, { viewport: { width: 1280, height: 720 } })
  for (const [category, revealed] of Object.entries({ Three: 1, Four: 4, Eight: 5 })) {
    await organiser.patch('/api/jam', { revealed })
    await page.goto('/jam/results')
    await page.getByRole('heading', { name: category, exact: true }).waitFor()
    const [podium, steps] = await Promise.all(
      ['.podium', '.podium-steps'].map((selector) => page.locator(selector).boundingBox()),
    )
    t.ok(podium && steps && podium.y + podium.height <= steps.y, `${category}: nothing is below the buttons`)
    t.ok(steps && steps.y + steps.height <= 720, `${category}: the buttons are in view`)
    await expectNoOverflow(t, page)
  }
})
