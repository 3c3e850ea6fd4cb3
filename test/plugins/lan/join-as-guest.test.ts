// A guest comes in from /join where new accounts need a proof of work, in a real browser.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'

t.test('a guest types a name on /join and is in', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, {
    listen: true,
    config: { auth: { guests: true, signUpChallenge: 'work' } },
  })
  const { page, complaints } = await openPage(browser)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${platform.portal}/join`)
  await expectNoAxeViolations(t, page, 'join')
  await expectNoOverflow(t, page, 'join')
  await page.getByLabel('Name').fill('Gus')
  await page.getByRole('button', { name: 'Play as a guest' }).click()
  await page.waitForURL(`${platform.portal}/`)
  const rows = await platform.app.db.query<{ name: string }>('select name from players')
  t.same(rows, [{ name: 'Gus' }])
  t.same(complaints, [])
})
