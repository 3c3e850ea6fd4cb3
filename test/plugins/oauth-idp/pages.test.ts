import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { authorizeUrl, registerApp } from '../../kit/oauth.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'

const looks = [
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { name: 'desk-light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'desk-dark', viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
] as const

inFull(t)?.test('every page is accessible and fits, on a phone and a desk, by day and by night', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const setUp = new URL((await platform.app.identity.setupUrl()) as string).pathname
  const player = await platform.signUp({ name: 'Ada Lovelace', email: 'ada@example.org' })
  const app = await registerApp(platform, player)
  const { page, complaints } = await openPage(browser)

  const visit = async (title: string, path: string) => {
    await page.goto(platform.portal + path)
    await check(title)
  }
  const check = async (title: string) => {
    for (const { name, viewport, colorScheme } of looks) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await expectNoAxeViolations(t, page, `${title}, ${name}: axe-core finds nothing`)
      await expectNoOverflow(t, page, `${title}, ${name}: nothing sticks out`)
      await screenshot(page, `idp-${title}-${name}`)
    }
  }

  await visit('sign-up', '/sign-up')
  await visit('set-up', setUp)
  await visit('sign-in', '/sign-in?returnTo=/settings')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill('wrong password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Email address or password is wrong').waitFor()
  t.match(complaints.splice(0), [/401/], 'the browser notes the refusal, and nothing else')
  await check('sign-in-refused')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/settings')

  await check('account')
  await visit('consent', authorizeUrl(app))
  await visit('sign-out', '/sign-out')
  await visit('tokens', '/settings/tokens')
  await page.getByLabel('Label').fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page
    .getByText(/svc_api_/)
    .first()
    .waitFor()
  await check('token-created')
  // A picture still on its way when the next page is opened is no complaint.
  const real = complaints.filter((complaint) => !complaint.endsWith('net::ERR_ABORTED'))
  t.same(real, [], 'no complaint of the browser')
})

t.test('the forms work in a browser without scripts', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const { page } = await openPage(browser, { javaScriptEnabled: false })
  await page.goto(`${platform.portal}/sign-up?returnTo=/settings/tokens`)
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL('**/settings/tokens')
  await page.getByLabel('Label').fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  // A click waits for the next page's begin, not for its end.
  await page
    .getByText(/svc_api_[0-9A-Za-z]{38}/)
    .first()
    .waitFor()
  await page.goto(`${platform.portal}/settings/tokens`)
  await page.getByRole('button', { name: 'Revoke laptop' }).click()
  await page.getByRole('main').getByText('The token is revoked').waitFor()
})
