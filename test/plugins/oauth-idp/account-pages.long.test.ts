// In the short form recovery.test.ts and guests.test.ts send the same forms.
import jpeg from 'jpeg-js'
import t from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openBrowser, openPage, screenshot } from '../../kit/browser.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'
import { linkIn, startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens']
const looks = [
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { name: 'desk-light', viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { name: 'desk-dark', viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
] as const
const club = { issuer: 'http://127.0.0.1:9', clientId: 'yard', clientSecret: 'x', label: 'the Club' }

t.test('account pages are accessible and fit, on a phone and a desk, by day and by night', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const auth = { guests: true, signUp: 'invite', providers: { club } }
  const platform = await startPlatform(t, { only, listen: true, config: { auth } })
  const { portal } = platform
  const { identity } = platform.app
  const admin = await identity.players.createByHost(
    {
      name: 'Grace Hopper',
      email: 'grace@example.org',
      password: PASSWORD,
    },
    'admin',
  )
  for (const name of ['Ada Lovelace', 'Barbara Liskov', 'Radia Perlman', 'Karen Spärck Jones']) {
    await identity.players.create({
      name,
      email: `${name.split(' ')[0]}@example.org`.toLowerCase(),
      password: PASSWORD,
    })
  }
  const off = await identity.players.create({ name: 'Mallory', email: 'mallory@example.org', password: PASSWORD })
  await identity.administration.setDisabled(off.id, true)
  await identity.signUp.guest('Just Gus', { address: '127.0.0.1' })
  const { page, complaints } = await openPage(browser)
  const check = async (title: string) => {
    for (const { name, viewport, colorScheme } of looks) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      if (name === 'phone-light' || name === 'desk-dark') {
        await expectNoAxeViolations(t, page, `${title}, ${name}: axe-core finds nothing`)
      }
      await expectNoOverflow(t, page, `${title}, ${name}: nothing sticks out`)
      await screenshot(page, `account-${title}-${name}`)
    }
  }
  const visit = async (title: string, path: string) => {
    await page.goto(portal + path)
    await check(title)
  }

  await visit('sign-in', '/sign-in')
  await visit('ask-reset', '/reset-password')
  await page.getByLabel('Name').waitFor({ state: 'detached' })
  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.getByLabel('Name').fill('Ada')
  await page.getByRole('button', { name: 'Play as a guest' }).click()
  await page.waitForURL(`${portal}/settings`)
  await check('guest')
  await page.context().clearCookies()

  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.getByLabel('Email').fill('grace@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${portal}/settings`)
  const photo = jpeg.encode(
    { width: 3000, height: 2500, data: Buffer.alloc(3000 * 2500 * 4, 'b96f3aff', 'hex') },
    80,
  ).data
  await page.getByLabel('Picture').setInputFiles({ name: 'me.jpg', mimeType: 'image/jpeg', buffer: photo })
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByText('Your picture is changed.').waitFor()
  const width = await page.locator('.picture img').evaluate(async (element) => {
    const image = element as HTMLImageElement
    await image.decode()
    return image.naturalWidth
  })
  t.equal(width, 256)
  await page.getByText('Delete account').click()
  await check('settings')
  await visit('security', '/settings/security')
  await visit('players', '/admin/players')
  await visit('player', `/admin/players/${off.id}`)
  await page.goto(`${portal}/admin/invitations`)
  await page.getByLabel('For whom').fill('Dorothy Vaughan')
  await page.getByRole('button', { name: 'Create the links' }).click()
  const invitation = (await page.getByLabel('Invitation link', { exact: true }).locator('code').textContent()) as string
  await check('invitations')
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  t.ok(await page.locator('.slip').isVisible())
  for (const other of ['header', 'h1', '.notice', '.lede', 'form', 'table', 'footer'])
    t.notOk(await page.locator(other).first().isVisible(), `${other} is not printed`)
  const ink = await page.locator('.slip-code').evaluate((element) => getComputedStyle(element).color)
  t.match(ink, /^rgb\((\d\d?), (\d\d?), (\d\d?)\)$/, 'dark on paper')
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
  t.match(await page.goto(`${portal}/admin/players/${admin.id}`).then(() => page.textContent('main')), /This is you/)
  const question = await identity.upstream.arrive(
    identity.upstream.provider('club'),
    { subject: 'u1', name: 'Grace', email: 'grace@example.org', emailVerified: true },
    { currentId: null, returnTo: '/' },
  )
  await visit('connect', `/connect/${(question as { question: string }).question}`)
  await page.context().clearCookies()
  await visit('invited', new URL(invitation).pathname)
  const real = complaints.filter((complaint) => !complaint.endsWith('net::ERR_ABORTED'))
  t.same(real, [], 'no complaint of the browser')
})

t.test('sign-up by mail, a lost password, and a guest who stays, without a script', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { inbox, url } = await startSmtp(t)
  const mail = { driver: 'smtp', url, from: 'yard@example.org' }
  const config = { mail, auth: { verifyEmail: true, guests: true } }
  const platform = await startPlatform(t, { only, listen: true, config })
  const { portal } = platform
  const { page } = await openPage(browser, { javaScriptEnabled: false })
  const follow = async (number: number) => {
    await until(() => inbox.length >= number)
    await page.goto(portal + linkIn(inbox[number - 1] as { text: string }))
  }

  await page.goto(`${portal}/sign-up`)
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Look into your mail' }).waitFor()
  await screenshot(page, 'account-mail-sent')
  await follow(1)
  await screenshot(page, 'account-confirm')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.goto(`${portal}/settings`)
  t.match(await page.textContent('main'), /ada@example\.org\s*verified/)

  await page.context().clearCookies()
  await page.goto(`${portal}/sign-in`)
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByRole('heading', { name: 'Look into your mail' }).waitFor()
  await follow(2)
  await screenshot(page, 'account-reset')
  await page.getByLabel('Password').fill('another yard battery fence')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText('Your new password is set').waitFor()
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill('another yard battery fence')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.goto(`${portal}/settings/security`)
  t.match(await page.textContent('main'), /Change password/)
  t.notOk(await page.getByRole('button', { name: 'Add a passkey' }).isVisible(), 'passkeys alone need a script')

  await page.context().clearCookies()
  await page.goto(`${portal}/sign-in?returnTo=/settings`)
  await page.getByLabel('Name').fill('Gus')
  await page.getByRole('button', { name: 'Play as a guest' }).click()
  const id = (await page.locator('.picture img').getAttribute('src'))?.split('/').at(-1)
  await page.getByLabel('Email').fill('gus@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create an account' }).click()
  await follow(3)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.goto(`${portal}/settings`)
  t.match(await page.locator('.picture img').getAttribute('src'), id as string, 'the same player')
  t.match(await page.textContent('main'), /gus@example\.org\s*verified/)

  const tiny = jpeg.encode({ width: 64, height: 64, data: Buffer.alloc(64 * 64 * 4, 200) }, 80).data
  await page.getByLabel('Picture').setInputFiles({ name: 'me.jpg', mimeType: 'image/jpeg', buffer: tiny })
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByText('Your picture is changed.').waitFor()
})
