// The main journeys by keyboard alone. The short form has two of them in Chromium, the long form all in Chromium and
// Firefox.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Engine, type EngineName, openEngine } from '../kit/engines/engine.ts'
import { Keyboard } from '../kit/engines/keyboard.ts'
import type { EnginePage } from '../kit/engines/page.ts'
import { cookiesOf } from '../kit/engines/pages.ts'
import { ALL } from '../kit/extent.ts'
import { callEndpoint } from '../kit/oauth.ts'
import { type Client, PASSWORD, type Platform, type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { sheet } from '../plugins/assets/models.ts'
import { deploy } from '../plugins/deploy/build.ts'
import { zipOf } from '../plugins/deploy/zip-writer.ts'

interface World {
  engine: Engine
  platform: Platform
  admin: PlayerClient
  maker: PlayerClient
  /** A game of the maker that can be played. */
  slug: string
  folder: string
}

interface Visit {
  page: EnginePage
  keyboard: Keyboard
}

async function open({ engine, platform }: World, player: Client | null): Promise<Visit> {
  const context = await engine.newContext({ base: platform.portal, cookies: cookiesOf(platform, player) })
  const page = await context.newPage()
  return { page, keyboard: new Keyboard(page) }
}

type Journey = (t: Test, world: World) => Promise<void>

const signUp: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, null)
  await page.goto('/')
  await keyboard.press('Sign up')
  await page.waitForUrl(/\/sign-up/)
  await keyboard.type('Name', 'Mo')
  await keyboard.type('Email', 'mo@example.org')
  await keyboard.type('Password', PASSWORD)
  await keyboard.press('Create account')
  await page.waitForUrl(({ pathname }) => pathname === '/')
  await page.see({ text: 'Mo', within: '.menu-name' })
}

const createBoard: Journey = async (t, world) => {
  const { page, keyboard } = await open(world, world.maker)
  await page.goto(`/games/${world.slug}/scores`)
  await keyboard.type('Title', 'Laps')
  await keyboard.type('Id', 'Fastest Lap')
  await page.press('Enter')
  await page.waitFor("document.title.startsWith('Error: ') && document.activeElement.id === 'field-id'")
  t.match(await page.text('.field-error'), /Use 1 to 40 lower-case letters/)
  t.same(
    await page.evaluate("[document.activeElement.value, document.querySelector('[name=title]').value]"),
    ['Fastest Lap', 'Laps'],
    'what was typed is there, with the focus on the fault',
  )
  await page.evaluate('document.activeElement.select()')
  for (const key of 'fastest') await page.press(key)
  await page.press('Enter')
  await page.waitForUrl(/\/scores\/fastest/)
  await page.waitFor("document.activeElement.textContent.includes('The board was saved.')")
}

const playAndLeave: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, world.maker)
  await page.goto(`/games/${world.slug}`)
  await page.frame('.play iframe').see('h1')
  await page.waitFor("document.activeElement.tagName === 'IFRAME'")
  await until(async () => {
    for (let presses = 0; presses < 3; presses++) await page.press('Escape')
    return (await keyboard.focused()) === 'About'
  })
  await page.press('Enter')
  await keyboard.press('Open on its own')
  await page.waitForUrl(({ hostname }) => hostname.startsWith(world.slug))
  await page.see('h1')
  await page.evaluate('void setTimeout(() => history.back())')
  // Puppeteer takes no notice of the address of a page that Firefox has kept.
  await page.waitFor(`location.pathname === '/games/${world.slug}' && document.querySelector('.play iframe') !== null`)
}

const publish: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, await world.platform.signUp())
  const archive = join(world.folder, 'build.zip')
  writeFileSync(archive, zipOf({ 'index.html': '<!doctype html><title>Sonar</title><h1>ping</h1>' }))
  await page.goto('/games/new')
  await keyboard.type('Title', 'Sonar')
  await keyboard.press('Create the game')
  await page.waitForUrl(/\/deploys$/)
  // The dialog of the system that chooses a file is none of the page's.
  await page.upload({ label: 'Zip archive' }, archive)
  await keyboard.press('Publish')
  await page.waitFor("document.activeElement.textContent.includes('Your build is live')")
}

const report: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, null)
  await page.goto(`/games/${world.slug}/report`)
  await page.waitFor("document.readyState === 'complete'")
  while (!(await page.evaluate("document.activeElement.type === 'radio'"))) await page.press('Tab')
  await page.press(' ')
  await keyboard.type('What is wrong?', 'It only advertises.')
  await keyboard.press('Send the report')
  await page.see({ text: 'Thank you' })
}

const moderate: Journey = async (_t, world) => {
  await world.platform.stranger.post('/api/reports', {
    target: { kind: 'player', id: world.maker.id },
    category: 'spam',
    text: 'It only advertises.',
  })
  const { page } = await open(world, world.admin)
  await page.goto('/admin/reports')
  while (!(await page.evaluate("document.activeElement.matches('.queue-case')"))) await page.press('Tab')
  // A case is in sight for a second before a key decides it.
  await until(async () => {
    await page.press('d')
    return /done=/.test(await page.url())
  })
  await page.see({ text: /Dismissed/ })
}

const approveDevice: Journey = async (_t, world) => {
  const { body } = await callEndpoint(world.platform.stranger, { clientId: 'gameyard-cli' }, 'device_authorization', {
    label: 'laptop',
    machine: 'tower.local',
  })
  const { page, keyboard } = await open(world, world.maker)
  await page.goto('/oauth/device')
  await keyboard.type('Code', body.user_code)
  await page.press('Enter')
  await page.see({ text: 'Is this your device?' })
  await keyboard.press('Allow')
  await page.see({ text: 'The device is signed in' })
}

const vote: Journey = async (t, world) => {
  const { admin, maker, platform } = world
  await admin.post('/api/jam', { title: 'Yard jam', categories: ['Fun'] })
  const { body } = await maker.get('/api/games')
  await maker.post('/api/jam/entries', { gameId: body.games[0].id })
  await admin.patch('/api/jam', { votingOpen: true })
  const { page, keyboard } = await open(world, await platform.signUp())
  await page.goto('/jam')
  await keyboard.tabTo('Fun')
  await page.press('ArrowDown')
  await keyboard.press('Save my votes')
  await page.see({ text: /Your votes are in/ })
  t.ok(await until(async () => (await platform.app.db.query('select * from jam_votes')).length === 1))
}

const uploadModel: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, world.maker)
  writeFileSync(join(world.folder, 'wavy-sea.glb'), await sheet(20))
  await page.goto('/assets/new')
  await page.upload({ label: 'File' }, join(world.folder, 'wavy-sea.glb'))
  await keyboard.press('Upload')
  await page.waitForUrl(({ pathname }) => pathname.startsWith('/assets/wavy-sea'))
}

const deleteAccount: Journey = async (_t, world) => {
  const { page, keyboard } = await open(world, await world.platform.signUp())
  await page.goto('/settings')
  await keyboard.press('Delete account')
  await keyboard.type('Password, to confirm', PASSWORD)
  await keyboard.press('Delete for good')
  await page.waitForUrl(/\/sign-in\?done=deleted/)
}

const SHORT = { signUp, createBoard }
const JOURNEYS: Record<string, Journey> = {
  ...SHORT,
  playAndLeave,
  publish,
  report,
  moderate,
  approveDevice,
  vote,
  uploadModel,
  deleteAccount,
}

for (const name of (ALL ? ['chromium', 'firefox'] : ['chromium']) as EngineName[]) {
  t.test(`the main journeys by keyboard alone in ${name}`, { timeout: timeLimit(400) }, async (t) => {
    const engine = await openEngine(t, name)
    if (!engine) return
    const platform = await startPlatform(t, { listen: true })
    const admin = await platform.admin()
    const maker = await platform.signUp({ name: 'Ada' })
    const { id, slug } = await platform.game(maker, { title: 'Duo' })
    await deploy(platform, await platform.program(maker), id, {
      'index.html': '<!doctype html><html lang="en"><title>Duo</title><h1>Duo</h1></html>',
    })
    const folder = mkdtempSync(join(tmpdir(), 'keyboard-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const world = { engine, platform, admin, maker, slug, folder }
    for (const [journey, run] of Object.entries(ALL ? JOURNEYS : SHORT))
      await t.test(journey, async (t) => {
        await run(t, world)
        t.pass('by keyboard')
      })
  })
}
