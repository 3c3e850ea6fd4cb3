// The proof of work in a real browser: nothing to solve, announced, and again after a mistake in the form.
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage } from '../../kit/browser.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'

t.test('a person signs up without noticing the proof of work', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, {
    only: ['oauth-idp', 'tokens'],
    listen: true,
    config: { auth: { signUpChallenge: 'work' } },
  })
  const { page, complaints } = await openPage(browser)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${platform.portal}/sign-up?returnTo=/settings`)
  await expectNoAxeViolations(t, page, 'sign-up')
  await expectNoOverflow(t, page, 'sign-up')
  const send = async (password: string) => {
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Create account' }).click()
  }
  await send('ada@example.org')
  await page.locator('.field-error').first().waitFor()
  await send(PASSWORD)
  await page.waitForURL(`${platform.portal}/settings`)
  t.equal(await platform.app.identity.administration.count(), 1)
  t.same(
    complaints.filter((line) => !/400/.test(line)),
    [],
  )

  await page.context().clearCookies()
  await page.goto(`${platform.portal}/sign-up`)
  await page.route('**/api/auth/sign-up/challenge', (route) =>
    route.fulfill({ status: 503, json: { error: { code: 'internal', message: 'The server is away.' } } }),
  )
  await page.reload()
  await send(PASSWORD)
  await page.getByRole('alert').filter({ hasText: 'The server is away.' }).waitFor()
  t.ok(await page.getByRole('button', { name: 'Create account' }).isEnabled(), 'and another try is possible')
})
