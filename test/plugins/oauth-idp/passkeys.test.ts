import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { Authenticator } from '../../kit/authenticator.ts'
import { expectNoAxeViolations, openBrowser, openPage } from '../../kit/browser.ts'
import { Client, PASSWORD, startPlatform } from '../../kit/platform.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']

t.test('a passkey is added, signs in, and is removed, in a real browser', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { inbox, url } = await startSmtp(t)
  const config = { mail: { driver: 'smtp', url, from: 'Yard <yard@example.org>' } }
  const platform = await startPlatform(t, { only, listen: true, config })
  const { portal } = platform
  const player = await platform.signUp({ name: 'Ada', email: 'ada@example.org' })
  const { page, context, complaints } = await openPage(browser)
  const { devtools, authenticatorId } = await virtualDevice(context, page)
  // Without suggestions the device answers when the button is pressed, not when the page is shown.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')

  await page.goto(`${portal}/sign-in?returnTo=/settings/security`)
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${portal}/settings/security`)
  await page.getByLabel('Name', { exact: true }).fill('My laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey is added.').waitFor()
  t.match(await page.locator('main').textContent(), /My laptop/)
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  t.equal(credentials.length, 1)
  t.match(credentials[0], { rpId: 'localhost', isResidentCredential: true })
  await expectNoAxeViolations(t, page)
  await until(async () => inbox.some((mail) => /A new way to/.test(mail.subject) && /My laptop/.test(mail.text)))

  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.locator('[data-passkey-trouble]:not([hidden])').waitFor()
  t.equal((await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length, 1, 'one a device')

  await context.clearCookies()
  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(`${portal}/settings`)
  t.match(await page.locator('main').textContent(), /ada@example.org/)

  await t.test('what the browser sent works once, here, and for nobody else', async (t) => {
    await context.clearCookies()
    await page.goto(`${portal}/sign-in?returnTo=/settings`)
    const sent = page.waitForRequest('**/api/auth/passkeys/sign-in')
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    const body = (await sent).postDataJSON()
    await page.waitForURL(`${portal}/settings`)
    const stranger = new Client(platform.app)
    const refused = { status: 401, body: { error: { code: 'invalid_credentials' } } }
    t.match(await stranger.post('/api/auth/passkeys/sign-in', body), refused, 'replayed')
    const { response } = body
    const forged = { response: { ...response, response: { ...response.response, signature: 'AAAA' } } }
    t.match(await stranger.post('/api/auth/passkeys/sign-in', forged), refused)
    t.match(await stranger.post('/api/auth/passkeys/sign-in', { response: {} }), refused)
    t.match(await stranger.post('/api/auth/passkeys/sign-in', { response: { id: response.id } }), refused)
    t.equal((await stranger.post('/api/auth/passkeys/sign-in', { response: 'x' })).status, 400)
  })

  await t.test('it needs the owner of the device', async (t) => {
    await context.clearCookies()
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await page.goto(`${portal}/sign-in?returnTo=/settings`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.locator('[data-passkey-trouble]:not([hidden])').waitFor()
    t.equal(new URL(page.url()).pathname, '/sign-in')
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  })

  await t.test('a disabled player is not let in by it, and one who is back is', async (t) => {
    const { administration } = platform.app.identity
    await platform.app.identity.players.createByHost(
      { name: 'Root', email: 'root@example.org', password: PASSWORD },
      'admin',
    )
    await administration.setDisabled(player.id, true)
    await page.goto(`${portal}/sign-in?returnTo=/settings`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('This account is disabled.').waitFor()
    await administration.setDisabled(player.id, false)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${portal}/settings`)
    t.match(await page.textContent('main'), /ada@example.org/)
  })

  await t.test('nor is who was signed out everywhere while it was looked at', async (t) => {
    const { administration, passkeys } = platform.app.identity
    const authenticate = passkeys.authenticate.bind(passkeys)
    Object.assign(passkeys, {
      authenticate: async (...given: Parameters<typeof authenticate>) => {
        Object.assign(passkeys, { authenticate })
        const known = await authenticate(...given)
        await administration.signOutEverywhere(player.id)
        return known
      },
    })
    await context.clearCookies()
    await page.goto(`${portal}/sign-in?returnTo=/settings`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('Email address or password is wrong').waitFor()
    t.same(await platform.app.db.query('select id from sessions where player_id = ?', [player.id]), [])
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${portal}/settings`)
  })

  await page.goto(`${portal}/settings/security`)
  await page.getByRole('button', { name: 'Remove My laptop' }).click()
  await page.getByText('The passkey is removed.').waitFor()
  await context.clearCookies()
  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.locator('[data-passkey-trouble]:not([hidden])').waitFor()
  const real = complaints.filter((complaint) => !/40[13]|ERR_ABORTED/.test(complaint))
  t.same(real, [], 'no other complaint of the browser')
})

t.test('a passkey is chosen among the suggestions for the address', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { only, listen: true })
  const { portal } = platform
  await platform.signUp({ name: 'Ada', email: 'ada@example.org' })
  const { page, context, complaints } = await openPage(browser)
  await virtualDevice(context, page)
  await page.goto(`${portal}/sign-in?returnTo=/settings/security`)
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('The passkey is added.').waitFor()
  await context.clearCookies()
  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.waitForURL(`${portal}/settings`)
  t.match(await page.locator('main').textContent(), /ada@example.org/, 'without the button')
  t.same(complaints, [])

  const address = '**/api/auth/passkeys/sign-in'
  /** Shows the sign-in page. @returns what the browser would have sent */
  const chosen = async () => {
    await context.clearCookies()
    const sent = Promise.withResolvers<object>()
    await page.route(address, (route) => {
      sent.resolve(route.request().postDataJSON())
      return route.abort()
    })
    await page.goto(`${portal}/sign-in`)
    const body = await sent.promise
    await page.unroute(address)
    return body
  }
  const send = (body: object) =>
    page.evaluate(
      ([path, json]) =>
        fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: json }).then(
          ({ status }) => status,
        ),
      ['/api/auth/passkeys/sign-in', JSON.stringify(body)] as const,
    )
  const body = await chosen()
  const other = new Client(platform.app)
  await other.post('/api/auth/passkeys/sign-in/options')
  t.equal((await other.post('/api/auth/passkeys/sign-in', body)).status, 401, 'not in another browser')
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(body)))
  t.same(answers.sort(), [200, 401, 401, 401, 401], 'once in this one')
  const late = await chosen()
  platform.clock.advance(301_000)
  t.equal(await send(late), 401, 'for five minutes')
})

/** Adds a device with passkeys to a page. It answers each request at once, also that for suggestions. */
async function virtualDevice(context: BrowserContext, page: Page) {
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { devtools, authenticatorId }
}

t.test('passkeys are for their player alone', async (t) => {
  const platform = await startPlatform(t, { only })
  const [ada, eve] = [await platform.signUp(), await platform.signUp()]
  t.equal((await platform.stranger.post('/api/auth/passkeys/options')).status, 401)
  const options = await ada.post('/api/auth/passkeys/options')
  t.match(options, { status: 200, body: { rp: { id: 'localhost' }, challenge: /^[\w-]{72}$/ } })
  t.not(options.body.challenge, (await ada.post('/api/auth/passkeys/options')).body.challenge)
  // Passkeys that are synchronised between devices do not count.
  const device = new Authenticator(platform.portal)
  const made = { label: 'Key', response: device.create(options.body, 0) }
  t.equal((await eve.post('/api/auth/passkeys', made)).status, 400, "another player's challenge")
  t.equal((await ada.post('/api/auth/passkeys', made)).status, 201)
  t.equal((await ada.post('/api/auth/passkeys', made)).status, 400, 'a challenge works once')
  const phone = new Client(platform.app)
  const { body: asked } = await phone.post('/api/auth/passkeys/sign-in/options')
  const answer = { response: device.get(asked, 0) }
  t.match(await phone.post('/api/auth/passkeys/sign-in', answer), { status: 200, body: { user: { id: ada.id } } })
  t.equal((await phone.post('/api/auth/passkeys/sign-in', answer)).status, 401, 'an answer, too')
  platform.clock.advance(601_000)
  const late = { status: 403, body: { error: { message: /a sign-in of the last ten minutes/ } } }
  t.match(await ada.post('/api/auth/passkeys/options'), late, 'a session left open adds none')
  for (const response of [{}, { id: 'x', rawId: 'x', type: 'public-key', response: {} }]) {
    t.match(await eve.post('/api/auth/passkeys', { label: 'x', response }), { status: 400 })
  }
  t.equal((await ada.submit('/settings/passkeys/remove', { id: 'nothing' })).status, 404)
  const foreign = { headers: { origin: 'http://pong.localhost:8080' } }
  t.equal((await ada.post('/api/auth/passkeys/options', undefined, foreign)).status, 403)
  t.equal((await ada.post('/api/auth/passkeys/sign-in/options', undefined, foreign)).status, 403)
})

t.test('passkeys are not tried without end', async (t) => {
  const limits = { rateLimits: true, signInAttemptsPerMinute: 3 }
  const platform = await startPlatform(t, { only, config: { limits } })
  const refused = { status: 429, body: { error: { code: 'rate_limited' } }, headers: { 'retry-after': /^\d+$/ } }
  const attempt = () => platform.stranger.post('/api/auth/passkeys/sign-in', { response: { id: 'x' } })
  for (let tries = 0; tries < 3; tries++) t.not((await attempt()).status, 429)
  t.match(await attempt(), refused)
  const begin = () => platform.stranger.post('/api/auth/passkeys/sign-in/options')
  const begun = await Promise.all(Array.from({ length: 90 }, begin))
  t.ok(
    begun.every(({ status }) => status === 200),
    'each view of the page begins one',
  )
  t.match(await begin(), refused, 'but not without end')
  const rows = await platform.app.db.query("select id from one_time_tokens where purpose = 'passkey'", [])
  t.same(rows, [], 'and stores nothing for it')
})

t.test('where browsers have no passkeys, no button promises one', async (t) => {
  for (const [config, possible] of [
    [{ portal: { url: 'https://yard.example.org' }, games: { domain: 'games.example.net' } }, true],
    [{}, true],
    [{ portal: { url: 'http://yard.example.org' }, games: { domain: 'games.example.net' } }, false],
    [{ lan: { enabled: true, address: '127.0.0.1', https: true } }, false],
  ] as const) {
    const { stranger, app } = await startPlatform(t, { only, config })
    t.equal((await stranger.get('/sign-in')).text.includes('data-passkey-sign-in'), possible, app.origins.portal)
  }
})
