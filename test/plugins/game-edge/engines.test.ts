// Builds in the layout of Godot's and Bevy's default exports, over a socket and in Chromium: what their engines ask of a
// server.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { deploy } from './kit.ts'

/** Publishes a fixture, and returns its address and what the deploy says about it. */
async function published(t: Test, name: string) {
  const folder = join(import.meta.dirname, '../../fixtures/games', name)
  const files = globSync('**/*.*', { cwd: folder }).map((path) => [path, readFileSync(join(folder, path))] as const)
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const game = await platform.game(owner)
  const program = await platform.program(owner)
  const id = await deploy(platform, program, game.id, Object.fromEntries(files))
  const { build, isolation } = (await program.get(`/api/deploy/${id}`)).body
  return { owner, url: platform.app.origins.game(game.slug), build, isolation }
}

const started = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor()

t.test('Godot, with threads and as a progressive web app', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { owner, url, build, isolation } = await published(t, 'godot')
  t.match(build, { engine: { name: 'Godot', version: '4.5.1' } })
  t.same(build.notes, [], 'nothing to warn about')
  t.equal(isolation.on, true)

  const { page, complaints } = await openPage(browser)
  const types = new Map<string, string | undefined>()
  page.on('response', (answer) => types.set(new URL(answer.url()).pathname, answer.headers()['content-type']))
  await page.goto(url)
  await started(page, 'Started with 2000.')
  t.equal(types.get('/index.wasm'), 'application/wasm')
  t.equal(types.get('/index.pck'), 'application/octet-stream')

  // From the second visit its worker stands between, and builds the answers anew.
  for (const visit of ['second', 'third']) {
    await page.reload()
    await started(page, 'Started with 2000.')
    t.ok(
      await page.evaluate('navigator.serviceWorker.controller !== null'),
      `the worker stands between, ${visit} visit`,
    )
    t.equal(await page.evaluate('crossOriginIsolated'), true)
  }
  await page.locator('service-auth:not([hidden])').click()
  await page.locator('input[name=email]').fill(owner.account.email)
  await page.locator('input[name=password]').fill(owner.account.password)
  await page.locator('input[name=password]').press('Enter')
  await page.waitForURL(`${url}/`)
  await started(page, 'Started with 2000.')
  const session = await page.evaluate("fetch('/auth/service/session').then((answer) => answer.json())")
  t.match(session, { signedIn: true, user: { name: 'Ada' } }, 'a player signs in through it')
  t.same(complaints, [], 'and the picture of the player loads, which the portal has')
})

t.test('Bevy, which asks for settings of every asset', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { url, build, isolation } = await published(t, 'bevy')
  t.match(build, { engine: { name: 'Bevy' } })
  t.same(build.notes, [], 'nothing to warn about')
  t.equal(isolation.on, false)

  const { page, complaints } = await openPage(browser)
  const statuses: string[] = []
  page.on('response', (answer) => {
    const { pathname } = new URL(answer.url())
    if (pathname.startsWith('/assets/')) statuses.push(`${pathname} ${answer.status()}`)
  })
  await page.goto(url)
  await started(page, 'Started at 60 with (rooms: 3), a hero.')
  t.same(statuses, [
    '/assets/level.ron.meta 404',
    '/assets/level.ron 200',
    '/assets/hero.txt.meta 404',
    '/assets/hero.txt 200',
  ])
  t.same([...new Set(complaints)], ['Failed to load resource: the server responded with a status of 404 (Not Found)'])
  t.equal(complaints.length, 2, 'nothing else is missing')
})
