// Tests in a real browser the way from a game through consent and back, and the approval of a device.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { ALL } from '../../kit/extent.ts'
import { callEndpoint, exchange, registerApp } from '../../kit/oauth.ts'
import { PASSWORD, type PlayerClient, startPlatform } from '../../kit/platform.ts'

const LOOKS = [
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: 'desk-dark', viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
] as const

/** One of them in the short form, because the most of the time goes to axe-core. */
const looksLike = (name: (typeof LOOKS)[number]['name']) => LOOKS.filter((look) => ALL || look.name === name)

const signIn = async (page: Page, player: PlayerClient) => {
  await page.fill('[name=email]', player.account.email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('button:has-text("Sign in")')
}

const inspect = async (t: Test, page: Page, name: string) => {
  await expectNoOverflow(t, page, `${name}: nothing sticks out`)
  await expectNoAxeViolations(t, page, `${name}: axe-core finds nothing`)
  await screenshot(page, name)
}

t.test('a player goes from a game to sign-in and consent, and back with a code', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const game = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>'),
  )
  game.listen(0, '127.0.0.1')
  await once(game, 'listening')
  t.teardown(() => game.close())
  const redirectUri = `http://127.0.0.1:${(game.address() as { port: number }).port}/callback`
  const app = await registerApp(platform, await platform.signUp(), { redirectUris: [redirectUri] })
  for (const { name, ...look } of looksLike('phone-light')) {
    const player = await platform.signUp({ name: 'Grace Hopper' })
    const { page, complaints } = await openPage(browser, look)
    const parameters = { client_id: app.clientId, redirect_uri: redirectUri, response_type: 'code', state: 's' }
    const scope = 'openid profile email offline_access ai:generate'
    await page.goto(`${platform.portal}/oauth/authorize?${new URLSearchParams({ ...parameters, scope })}`)
    await signIn(page, player)
    await page.waitForSelector('text=wants to know who you are')
    await inspect(t, page, `consent-${name}`)
    await page.click('button:has-text("Allow")')
    await page.waitForSelector('text=Welcome')
    const answer = new URL(page.url()).searchParams
    t.equal(answer.get('state'), 's')
    const code = answer.get('code') as string
    const given = await exchange(platform.stranger, app, code, { redirect_uri: redirectUri })
    t.match(given.body, { user: { name: 'Grace Hopper' }, id_token: String })
    await page.goto(`${platform.portal}/settings/connected`)
    await inspect(t, page, `connected-${name}`)
    await page.click('button:has-text("Disconnect")')
    await page.waitForSelector('text=Nothing has access yet')
    await page.goto(`${platform.portal}/oauth/logout`)
    await inspect(t, page, `logout-${name}`)
    t.same(complaints, [], name)
  }
})

t.test('a player approves a device', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const cli = { clientId: 'gameyard-cli' }
  for (const { name, ...look } of looksLike('desk-dark')) {
    const player = await platform.signUp({ name: 'Grace Hopper' })
    const asked = { label: 'laptop', machine: 'tower-of-the-north-wing.example.internal' }
    const { body: device } = await callEndpoint(platform.stranger, cli, 'device_authorization', asked)
    const { page, complaints } = await openPage(browser, look)
    await page.goto(device.verification_uri)
    await signIn(page, player)
    await page.waitForSelector('[name=user_code]')
    await inspect(t, page, `device-code-${name}`)
    await page.fill('[name=user_code]', device.user_code.toLowerCase())
    await page.click('button:has-text("Go on")')
    await page.waitForSelector(`text=${asked.machine}`)
    await inspect(t, page, `device-approval-${name}`)
    await page.click('button:has-text("Allow")')
    await page.waitForSelector('text=The device is signed in')
    await inspect(t, page, `device-done-${name}`)
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const token = await callEndpoint(platform.stranger, cli, 'token', { grant_type, device_code: device.device_code })
    t.match(token.body.access_token, /^svc_cli_/)
    t.same(complaints, [], name)
  }
})

t.test('after a sign-out the Back button shows nothing of the player', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens'], listen: true })
  const player = await platform.signUp({ name: 'Grace Hopper' })
  const { page } = await openPage(browser)
  await page.goto(`${platform.portal}/sign-in?returnTo=/settings`)
  await signIn(page, player)
  await page.waitForURL('**/settings')
  t.match(await page.textContent('body'), /Grace Hopper/)
  await page
    .locator('form[action="/sign-out"] button')
    .first()
    .evaluate((button: HTMLElement) => button.click())
  await page.waitForURL(`${platform.portal}/`)
  await page.goBack()
  t.notMatch(await page.textContent('body'), /Grace Hopper/)
  t.match(page.url(), /\/sign-in\?returnTo=%2Fsettings$/)
})
