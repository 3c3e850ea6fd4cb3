// The portal where scripts do not run: every page can be read, and every kind of form does its work.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { expectNoOverflow, openBrowser, openPage } from '../kit/browser.ts'
import { PASSWORD, type PlayerClient } from '../kit/platform.ts'
import { openShowcase, pagesOf, type Showcase } from '../kit/showcase.ts'
import { zipOf } from '../plugins/deploy/zip-writer.ts'

const PICTURE = resolve(import.meta.dirname, '../fixtures/media/photo.jpg')

async function open(browser: Browser, { platform }: Showcase, player: PlayerClient | null, width = 1280) {
  const { page, context } = await openPage(browser, {
    baseURL: platform.portal,
    javaScriptEnabled: false,
    viewport: { width, height: 900 },
  })
  const cookies = [...(player?.cookiesOf() ?? [])]
  await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: platform.portal })))
  page.setDefaultTimeout(60_000)
  return page
}

/** Presses what sends a form, and waits for the page that answers. */
async function send(page: Page, name: string | RegExp) {
  const [answer] = await Promise.all([
    page.waitForResponse(
      (response) => response.request().isNavigationRequest() && response.frame() === page.mainFrame(),
    ),
    page.getByRole('button', { name, exact: typeof name === 'string' }).click(),
  ])
  await page.waitForLoadState('load')
  return answer
}

/** What a script would have to do first: things that are there and never shown, buttons that do nothing by themselves. */
async function expectNothingDead(t: Test, page: Page, name: string) {
  const dead = await page.evaluate(() => {
    const shown = (element: Element) => element.checkVisibility({ visibilityProperty: true })
    const buttons = [...document.querySelectorAll<HTMLButtonElement>('button')].filter(shown)
    return [
      ...buttons.filter((button) => button.type !== 'submit' || !button.form).map((button) => button.textContent),
      ...[...document.querySelectorAll('form')].filter((form) => !form.getAttribute('action')).map((form) => form.id),
      ...[...document.querySelectorAll<HTMLAnchorElement>('a')]
        .filter((link) => !link.getAttribute('href'))
        .map(String),
    ]
  })
  t.same(dead, [], `${name}: nothing that is shown waits for a script`)
}

t.test('without scripts', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const showcase = await openShowcase(t)
  const { host, newcomer, slug } = showcase
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-plain-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const archive = join(folder, 'build.zip')
  writeFileSync(archive, zipOf({ 'index.html': '<!doctype html><title>Sonar</title><h1>ping</h1>' }))

  await t.test('every page can be read', async (t) => {
    const viewers: Record<string, PlayerClient | null> = { guest: null, newcomer, host, error: host }
    for (const [viewer, paths] of Object.entries(pagesOf(showcase))) {
      const page = await open(browser, showcase, viewers[viewer] ?? null, 390)
      for (const path of paths) {
        const name = `${viewer} ${path}`
        const answer = await page.goto(path, { waitUntil: 'load' })
        t.ok(answer && (viewer === 'error' || answer.status() === 200), `${name}: ${answer?.status()}`)
        t.equal(await page.locator('h1').count(), 1, `${name}: one title`)
        t.ok(((await page.locator('main').textContent()) ?? '').trim().length > 20, `${name}: says something`)
        await expectNothingDead(t, page, name)
        await expectNoOverflow(t, page, `${name}: nothing sticks out`)
      }
      await page.close()
    }
  })

  await t.test('an account: sign up, be refused, change it, sign out and in', async (t) => {
    const page = await open(browser, showcase, null)
    await page.goto('/sign-up')
    await page.getByLabel('Name').fill('Plain Jane')
    await page.getByLabel('Email').fill('jane@example.org')
    await page.getByLabel('Password').fill('password12')
    await send(page, /account|Sign up/)
    t.ok(await page.locator('[aria-invalid=true]').count(), 'a refusal stands beside its field')
    await page.getByLabel('Password').fill(PASSWORD)
    await send(page, /account|Sign up/)
    await page.goto('/settings')
    await page.getByLabel('Name').fill('Jane')
    await send(page, 'Save')
    await page.getByText('Your name is changed.').waitFor()
    await page.getByLabel('Picture').setInputFiles(PICTURE)
    await send(page, 'Upload')
    await page.getByText('Your picture is changed.').waitFor()
    await page.getByText('Change the address').click()
    await page.getByLabel('New address').fill('jane@new.example')
    await page.getByLabel('Your password').fill(PASSWORD)
    await send(page, 'Send a link to it')
    await page.getByRole('heading', { name: 'This server sends no mail' }).waitFor()
    await page.locator('.menu summary').click()
    await send(page, 'Sign out')
    await page.goto('/sign-in')
    await page.getByLabel('Email').fill('jane@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await send(page, 'Sign in')
    await page.goto('/settings')
    t.equal(await page.getByLabel('Name').inputValue(), 'Jane')
    await page.close()
  })

  await t.test('a game: describe, upload, play, change, illustrate, roll back, delete, undo', async (t) => {
    const page = await open(browser, showcase, newcomer)
    await page.goto('/games/new')
    await page.getByLabel('Title').fill('Plain Sonar')
    await page.getByLabel('Tags').fill('Not A Tag!')
    await send(page, 'Create the game')
    t.ok(await page.locator('[aria-invalid=true]').count(), 'a refusal stands beside its field')
    await page.getByLabel('Tags').fill('plain')
    await page.getByText('Only me, and whom I invite').click()
    await send(page, 'Create the game')
    t.equal(await page.locator('.trail [aria-current=step]').textContent(), 'Upload')
    await page
      .getByLabel('Zip archive')
      .setInputFiles({ name: 'x.zip', mimeType: 'application/zip', buffer: Buffer.from('no') })
    t.equal((await send(page, 'Publish')).status(), 400)
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Zip archive').setInputFiles(archive)
    await send(page, 'Publish')
    await page.getByText('Your build is live').waitFor()
    t.equal(await page.locator('.trail [aria-current=step]').textContent(), 'Play')
    await page.getByLabel('Message').fill('Second')
    await page.getByLabel('Zip archive').setInputFiles(archive)
    await send(page, 'Publish')
    await page
      .getByRole('button', { name: /^Roll back to/ })
      .first()
      .click()
    await page.getByText('That deploy is live again.').waitFor()
    await send(page, 'Undo')
    await page.goto('/games/plain-sonar')
    await page.locator('.play iframe').waitFor()

    await page.goto('/games/plain-sonar/settings')
    await page.getByLabel('Picture or video').setInputFiles(PICTURE)
    await send(page, 'Upload')
    t.equal(await page.locator('#media img').count(), 1)
    const isolated = page.getByRole('radio', { name: /^Isolated/ })
    // The label covers its button.
    await page.getByText('Isolated', { exact: true }).click()
    await page.getByRole('button', { name: 'Save' }).last().click()
    await page.getByText('Saved.').waitFor()
    t.ok(await isolated.isChecked())
    await page.getByText('Delete game').click()
    await page.getByLabel('Type plain-sonar to confirm').fill('something else')
    await send(page, 'Delete for everyone')
    await page.getByText('Nothing was deleted').first().waitFor()
    await page.getByLabel('Type plain-sonar to confirm').fill('plain-sonar')
    await send(page, 'Delete for everyone')
    await send(page, 'Undo')
    t.match(page.url(), /plain-sonar\/settings$/)
    await page.close()
  })

  await t.test('tokens, search, assets, devices', async (t) => {
    const page = await open(browser, showcase, newcomer)
    await page.goto('/settings/tokens')
    await page.getByLabel('Label').fill('plain')
    await send(page, 'Create token')
    t.match(await page.getByLabel('token', { exact: true }).locator('code').textContent(), /^svc_api_/)
    await send(page, 'Revoke plain')
    await page.getByText('No tokens yet').waitFor()
    await page.goto('/catalog')
    await page.getByRole('searchbox').fill('rooftop')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/catalog?q=rooftop')
    await page.getByRole('link', { name: /Rooftop Relay/ }).waitFor()
    await page.goto('/assets/new')
    await page.getByLabel('File').setInputFiles(PICTURE)
    await page.getByLabel('Title').fill('Plain photo')
    await send(page, 'Upload')
    await page.getByRole('heading', { name: 'Plain photo' }).waitFor()
    await page.goto('/oauth/device')
    await page.getByLabel('Code').fill('BCDF-GHJK')
    await send(page, 'Go on')
    t.ok(await page.locator('[aria-invalid=true]').count(), 'an unknown code is said to be one')
    await page.close()
  })

  await t.test('the host: players, games, credits, invitations, a jam, a backup', async (t) => {
    const page = await open(browser, showcase, host)
    await page.goto('/admin/players?q=Linus')
    await page.getByRole('link', { name: 'Linus' }).click()
    await send(page, 'Disable')
    await page.getByText('Shut out').waitFor()
    await send(page, 'Let in again')
    await page.goto('/admin/games?q=rooftop')
    await page.getByRole('link', { name: /^Suspend/ }).click()
    await page.getByLabel('Reason').fill('It is not finished.')
    await send(page, 'Suspend the game')
    await send(page, /^Undo/)
    await page.getByText('Can be played again').waitFor()
    await page.goto('/admin/credits')
    await page.getByLabel('Player').fill('noor@example.org')
    await page.getByLabel('Credits').fill('5')
    await page.getByLabel('Reason').fill('Plain thanks')
    await send(page, 'Grant')
    t.notOk(await page.locator('[aria-invalid=true]').count())
    await page.goto('/admin/storage')
    await send(page, 'Count now')
    await page.getByText(/Counted/).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download a backup' }).click()
    t.match((await download).suggestedFilename(), /\.tar$/)

    await page.goto('/jam')
    await send(page, 'Begin the jam')
    await page.getByText('The jam has begun').waitFor()
    await page.goto(`/games/${slug}`)
    t.ok(await page.locator('.play iframe').count())
    await page.close()
  })
})
