// The owner offers a game to a maker, who accepts it, both by keyboard.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, screenshot } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { signedIn } from '../../kit/portal-pages.ts'
import { join } from '../../kit/team.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.test('a game is offered and accepted on the tab Team', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Olu' })
  const [maker, other] = [await platform.signUp({ name: 'Mae' }), await platform.signUp({ name: 'Ned' })]
  const game = await platform.game(owner, { title: 'Duo' })
  await join(owner, game, 'maker', [maker, other])
  const wide = { viewport: { width: 1280, height: 900 } }
  const narrow = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const
  const ofOwner = await signedIn(browser, platform.portal, owner, wide)
  const ofMaker = await signedIn(browser, platform.portal, maker, narrow)

  const { page } = ofOwner
  await page.goto(`${platform.portal}/games/duo/team`)
  await page.locator('#transfer summary').press('Enter')
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'team-offer')
  await page.getByLabel('Mae', { exact: true }).press('Space')
  await page.locator('#transfer').getByRole('button', { name: 'Offer the game' }).press('Enter')
  await page.waitForURL('**/team#transfer')
  await page.getByText('Offered to Mae').waitFor()
  await screenshot(page, 'team-offered')

  await ofMaker.page.goto(`${platform.portal}/games/duo/team`)
  await ofMaker.page.getByRole('heading', { name: 'This game is offered to you' }).waitFor()
  await ofMaker.page.getByText('It counts as one of your games. You have 0').waitFor()
  await expectNoAxeViolations(t, ofMaker.page)
  await expectNoOverflow(t, ofMaker.page)
  await screenshot(ofMaker.page, 'team-offered-to-me')
  await ofMaker.page.getByRole('button', { name: 'Become the owner' }).press('Enter')
  await ofMaker.page.getByRole('heading', { name: 'New owner' }).waitFor()
  t.match(await platform.app.games.get(game.id), { ownerId: maker.id })
  await screenshot(ofMaker.page, 'team-mine')

  await ofMaker.page.goto(`${platform.portal}/settings`)
  await ofMaker.page.locator('summary', { hasText: 'Delete account' }).press('Enter')
  await expectNoAxeViolations(t, ofMaker.page)
  await expectNoOverflow(t, ofMaker.page)
  await screenshot(ofMaker.page, 'account-end')
  t.same([...ofOwner.complaints, ...ofMaker.complaints], [])
})
