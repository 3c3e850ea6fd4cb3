// The portal as a whole, in a real browser: its keyboard, what it shows before the server has answered, and the three
// main tasks, counted in clicks. The tests in pages/ check every page.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { expectNoAxeViolations, openBrowser, openPage } from '../kit/browser.ts'
import { PASSWORD, startPlatform } from '../kit/platform.ts'
import { signedIn } from '../kit/portal-pages.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { form } from '../plugins/assets/kit.ts'
import { zipOf } from '../plugins/deploy/zip-writer.ts'

const PICTURE = readFileSync(join(import.meta.dirname, '../fixtures/media/photo.jpg'))

t.setTimeout(timeLimit(480))

t.test('everything is reached by keyboard and says where one is; forms say what is wrong', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const host = await platform.admin()
  const { page } = await signedIn(browser, platform.portal, host, { viewport: { width: 1280, height: 900 } })
  for (const path of ['/admin', '/games/new', '/settings/tokens', '/catalog']) {
    await page.goto(path)
    const expected = await page.evaluate(
      () =>
        [
          ...document.querySelectorAll<HTMLElement>(
            'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]',
          ),
        ].filter(
          (element) =>
            element.checkVisibility() &&
            !(element as HTMLButtonElement).disabled &&
            (element as HTMLInputElement).type !== 'radio',
        ).length,
    )
    const reached = new Set<string>()
    for (let presses = 0; presses < expected + 10; presses++) {
      await page.keyboard.press('Tab')
      const at = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement | null
        if (!element || element === document.body) return null
        const style = getComputedStyle(element)
        const all = [...document.querySelectorAll('*')]
        return {
          index: String(all.indexOf(element)),
          radio: (element as HTMLInputElement).type === 'radio',
          shown: style.outlineStyle !== 'none' || style.boxShadow !== 'none',
        }
      })
      if (!at) break
      if (!at.radio) reached.add(at.index)
      if (!at.shown) t.fail(`${path}: what is reached by ${presses + 1} presses does not show it`)
    }
    t.ok(reached.size >= expected, `${path}: ${reached.size} of ${expected} are reached`)
  }

  await page.goto('/')
  await page.keyboard.press('?')
  t.ok(await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).isVisible(), 'the sheet of shortcuts')
  await expectNoAxeViolations(t, page, 'the sheet: axe-core finds nothing')
  await page.keyboard.press('Escape')
  // On a busy machine the two keys may be too far apart for one attempt.
  await until(async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('m')
    await page.waitForURL('**/games', { timeout: timeLimit(5) }).catch(() => {})
    return page.url().endsWith('/games')
  })
  t.pass('g and m lead to my games')

  await page.goto('/settings/tokens')
  await page.getByRole('button', { name: 'Create token' }).evaluate((button: HTMLButtonElement) => {
    if (button.form) button.form.noValidate = true
  })
  await page.getByRole('button', { name: 'Create token' }).click()
  const field = page.getByLabel('Label')
  t.equal(await field.getAttribute('aria-invalid'), 'true')
  t.ok(await field.getAttribute('aria-describedby'), 'the field is tied to what is wrong with it')
})

t.test('what is certain shows at once, and goes back when the server refuses', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const host = await platform.admin()
  const program = await platform.program(host)
  const { payload, headers } = form(PICTURE, { title: 'Fence' }, 'fence.jpg')
  const authorization = `Bearer ${program.token}`
  await fetch(`${platform.portal}/api/assets`, {
    method: 'POST',
    headers: { ...headers, authorization },
    body: payload,
  })
  const visibility = async () => (await program.get('/api/assets/fence')).body.visibility
  const { page } = await signedIn(browser, platform.portal, host, { viewport: { width: 1280, height: 900 } })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const arrives = async (what: string, is: () => Promise<boolean>) => {
    await until(is)
    t.pass(what)
  }
  /** Holds back what the page sends, until what is returned lets it through. */
  const hold = async (address: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route(address, async (route) => {
      await promise
      await route.continue()
    })
    return resolve
  }

  await page.goto('/assets/fence')
  const publish = await hold('**/assets/fence/*publish')
  await button('Publish').click()
  await button('Make private').waitFor()
  t.equal(await page.getByText('private', { exact: true }).count(), 0, 'every part that says it, says it')
  t.equal(await button('Make private').evaluate((element) => element === document.activeElement), true, 'focus stays')
  t.equal(await visibility(), 'private', 'before the server has received of it')
  await button('Make private').click()
  await button('Publish').click()
  let answers = 0
  page.on('response', (response) => {
    if (response.request().method() === 'POST') answers++
  })
  publish()
  await arrives('three answers', async () => answers === 3)
  t.equal(await visibility(), 'public', 'the last counts')
  t.ok(await button('Make private').isVisible())
  t.match(page.url(), /\/assets\/fence$/)
  await expectNoAxeViolations(t, page, 'with its message: axe-core finds nothing')

  await program.delete('/api/assets/fence')
  await button('Make private').click()
  await page.getByRole('alert').getByText('no longer exists').waitFor()
  t.ok(await button('Make private').isVisible(), 'it goes back')
  t.ok(await page.getByText('private', { exact: true }).isHidden())

  const maker = await platform.signUp({ name: 'Mo' })
  const game = await platform.game(maker, { title: 'Sonar', url: 'https://sonar.example.org' })
  const isSuspended = async () => Boolean((await platform.app.games.byId(game.id))?.suspended)
  await page.goto('/admin/games')
  await page.getByRole('link', { name: 'Suspend: Sonar' }).click()
  await page.getByLabel('Reason').fill('It plays the sound of another game.')
  await expectNoAxeViolations(t, page, 'where a game is suspended: axe-core finds nothing')
  await button('Suspend the game').click()
  await page.getByText('suspended', { exact: true }).waitFor()
  t.equal(await isSuspended(), true)
  await button('Undo: Sonar').click()
  await page.getByText('live', { exact: true }).waitFor()
  t.equal(await isSuspended(), false)

  await host.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  await maker.post('/api/jam/entries', { gameId: game.id })
  await host.patch('/api/jam', { submissionsOpen: false, votingOpen: true })
  const votes = async () => (await host.get('/api/jam')).body.votes
  await page.goto('/jam')
  const choice = page.getByLabel('Fun')
  const held = await hold('**/jam/votes')
  await choice.selectOption(game.id)
  await page.getByRole('status').getByText('Your votes are in').waitFor()
  t.strictSame(await votes(), {}, 'said before the server has received of it')
  held()
  await arrives('a choice counts without a button', async () => (await votes()).fun === game.id)
  // Without the focus the page would load again, since voting has closed.
  await choice.focus()
  await host.patch('/api/jam', { votingOpen: false })
  await choice.selectOption('')
  await page.getByRole('alert').getByText('Voting is closed by now').waitFor()
  t.equal(await choice.inputValue(), game.id, 'what counts is chosen again')
})

t.test('the main tasks, in clicks', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-portal-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const archive = join(folder, 'build.zip')
  writeFileSync(archive, zipOf({ 'index.html': '<!doctype html><title>Sonar</title><h1>ping</h1>' }))
  const platform = await startPlatform(t, { listen: true })
  const wide = { viewport: { width: 1280, height: 900 } }
  const clicks: Record<string, number> = {}

  // The host, from the first start.
  const link = (await platform.app.identity.setupUrl()) as string
  const hosts = await openPage(browser, { baseURL: platform.portal, ...wide })
  const click = async (task: string, target: ReturnType<Page['locator']>) => {
    clicks[task] = (clicks[task] ?? 0) + 1
    await target.click()
  }
  await hosts.page.goto(link)
  await hosts.page.getByLabel('Name').fill('Ada')
  await hosts.page.getByLabel('Email').fill('ada@example.org')
  await hosts.page.getByLabel('Password').fill(PASSWORD)
  await click('host', hosts.page.getByRole('button', { name: 'Create admin account' }))
  await hosts.page.getByRole('heading', { name: 'First steps' }).waitFor()
  const rude = await platform.signUp({ name: 'Rude Guest' })
  await click('host', hosts.page.getByRole('link', { name: 'Players' }))
  await click('host', hosts.page.getByRole('link', { name: 'Rude Guest' }))
  await click('host', hosts.page.getByRole('button', { name: 'Disable' }))
  await hosts.page.getByText('Shut out').waitFor()
  t.match((await rude.get('/api/auth/session')).body, { signedIn: false }, 'the player is out')
  t.ok((clicks.host ?? 0) <= 10, `host: ${clicks.host} clicks`)

  // A maker, from an empty account to a link that plays.
  const maker = await platform.signUp({ name: 'Mo' })
  const makers = await signedIn(browser, platform.portal, maker, wide)
  await makers.page.goto('/')
  await click('maker', makers.page.getByRole('link', { name: 'Publish a game' }))
  await makers.page.getByLabel('Title').fill('Sonar')
  await click('maker', makers.page.getByRole('button', { name: 'Create the game' }))
  clicks.maker = (clicks.maker ?? 0) + 1 // choosing the file
  await makers.page.getByLabel('Zip archive').setInputFiles(archive)
  await click('maker', makers.page.getByRole('button', { name: 'Publish', exact: true }))
  await makers.page.getByText('Your build is live').waitFor()
  await click('maker', makers.page.locator('a.address'))
  await makers.page.getByRole('heading', { name: 'ping' }).waitFor()
  t.ok((clicks.maker ?? 0) <= 8, `maker: ${clicks.maker} clicks`)

  // A newcomer, who has no account.
  const newcomers = await openPage(browser, { baseURL: platform.portal, ...wide })
  await newcomers.page.goto('/')
  await click('newcomer', newcomers.page.getByRole('link', { name: /Sonar/ }).first())
  await newcomers.page.frameLocator('.play iframe').getByRole('heading', { name: 'ping' }).waitFor()
  t.ok((clicks.newcomer ?? 0) <= 2, `newcomer: ${clicks.newcomer} clicks`)
  t.same([...hosts.complaints, ...newcomers.complaints], [])
})
