// Every starter is made into a game by its form, and played in Chromium by keyboard, touch and gamepad.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { STARTERS } from '../../plugins/starters/catalog.ts'
import { assetsOfStarters, filesOf } from '../../plugins/starters/files.ts'
import {
  expectNoAxeViolations,
  expectNoOverflow,
  openBrowser,
  openPage,
  SOFTWARE_GRAPHICS,
  screenshot,
} from '../kit/browser.ts'
import { cookiesOf } from '../kit/engines/pages.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { type Platform, type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { playerAt } from './chromium.ts'
import { followTime } from './real-time.ts'
import { SCENES, WITH_LUCK } from './scenes.ts'

const root = join(import.meta.dirname, '../..')
/** Those that need no graphics are played in the short form too. */
const PLAYED = STARTERS.filter(({ name }) => ALL || name === 'page' || name === 'canvas')
/** Chromium reports these about software graphics. */
const EXPECTED = /GPU stall|GL Driver Message|software WebGL/i

/** Makes a game of a starter by the form. @returns the address of the game */
async function make(platform: Platform, player: PlayerClient, starter: string): Promise<string> {
  const { status, headers } = await player.submit('/games/new/starter', { starter, title: '' })
  if (status !== 303) throw new Error(`The form was answered with ${status}.`)
  return platform.app.origins.game(headers.location?.split('/').at(-1) ?? '')
}

/** The longest wait in ms, on a slow machine. */
const LONGEST_MS = 120_000

const window = async (browser: Browser, platform: Platform, player: PlayerClient, luck = 0.5) => {
  const opened = await openPage(browser, { viewport: { width: 390, height: 640 }, hasTouch: true })
  opened.page.setDefaultTimeout(LONGEST_MS)
  await opened.context.addCookies(cookiesOf(platform, player))
  await opened.page.addInitScript(`window.luck = ${luck}; ${WITH_LUCK}`)
  return opened
}

for (const { name } of PLAYED) {
  t.test(`${name} is played`, { timeout: timeLimit(400) }, async (t) => {
    const scene = SCENES[name]
    if (!scene) return t.fail('somebody plays it')
    const browser = await openBrowser(t, ALL ? [SOFTWARE_GRAPHICS] : [])
    if (!browser) return
    const platform = await startPlatform(t, { listen: true })
    followTime(t, platform.clock)
    const ada = await platform.signUp({ name: 'Ada' })
    const address = await make(platform, ada, name)
    // In the meadow, fireflies are just out of reach.
    const { page, complaints, context } = await window(browser, platform, ada, name === 'rooms' ? 0.7 : 0.5)
    await page.goto(`${address}/auth/service/start?returnTo=/`)
    await expectNoAxeViolations(t, page)
    await expectNoOverflow(t, page)
    const player = await playerAt(page)
    await scene(player)
    await screenshot(page, `starter-${name}`)
    await page.click('#sound')
    t.equal(await page.textContent('#sound'), 'Muted')
    t.equal(await page.getAttribute('#sound', 'aria-pressed'), 'false')
    t.same(
      complaints.filter((text) => !EXPECTED.test(text)),
      [],
      'nothing is wrong, and nothing comes from elsewhere',
    )
    await context.close()
  })
}

inFull(t)?.test('two people meet in the starter with a room', { timeout: timeLimit(400) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  followTime(t, platform.clock)
  const ada = await platform.signUp({ name: 'Ada' })
  const grace = await platform.signUp({ name: 'Grace' })
  const address = await make(platform, ada, 'rooms')
  const pages = []
  for (const person of [ada, grace]) {
    // The fireflies are just out of reach of both, at the right and a little lower, so that one key is enough.
    const { page, complaints } = await window(browser, platform, person, 0.7)
    await page.goto(`${address}/auth/service/start?returnTo=/`)
    pages.push({ page, complaints, player: await playerAt(page) })
    await page.locator('#say', { hasText: /friend|here with/ }).waitFor()
  }
  const [first, second] = pages as [(typeof pages)[0], (typeof pages)[0]]
  await first.page.locator('#say', { hasText: 'You are here with Grace.' }).waitFor()
  await second.page.locator('#say', { hasText: 'You are here with Ada.' }).waitFor()
  await first.player.hold('ArrowRight')
  for (const { page } of pages) await page.locator('#points', { hasText: /Ada [1-9]/ }).waitFor()
  await first.player.release('ArrowRight')
  // The fireflies come back where her finger is.
  await second.player.touch('#meadow', 404 / 600, 404 / 600)
  for (const { page } of pages) await page.locator('#points', { hasText: 'Grace has won the last round.' }).waitFor()
  t.pass('both see the points and who wins, by keyboard and by touch')
  for (const { complaints } of pages) t.same(complaints, [])
})

inFull(t)?.test('a starter with a room says that the server is away, and when it is back', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  for (const [name, back] of Object.entries({ rooms: 'You are the first', authority: 'You are back' })) {
    const platform = await startPlatform(t, { listen: true })
    followTime(t, platform.clock)
    const ada = await platform.signUp({ name: 'Ada' })
    const { page, context } = await window(browser, platform, ada)
    await page.goto(`${await make(platform, ada, name)}/auth/service/start?returnTo=/`)
    await page.locator('#points', { hasText: 'Ada' }).waitFor()
    await context.setOffline(true)
    // An open WebSocket survives Chromium's offline mode, so the server closes it.
    for (const socket of platform.app.websocketServer.clients) socket.terminate()
    await page.locator('#say', { hasText: 'The connection is lost' }).waitFor()
    await context.setOffline(false)
    await page.locator('#say', { hasText: back }).waitFor()
    t.pass(name)
    await context.close()
  }
})

t.test('a low window shows all of the menu of a starter', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { page } = await openPage(browser, { viewport: { width: 844, height: 390 } })
  for (const starter of STARTERS) {
    const [file] = await filesOf(starter)
    await page.setContent(Buffer.from(file?.bytes ?? '').toString())
    if ((await page.locator('#menu gameyard-board').count()) === 0) continue
    // The board is as high as with five players.
    await page.addStyleTag({ content: 'gameyard-board { height: 15rem }' })
    for (const selector of ['#say', '#play', 'gameyard-board']) {
      const seen = await page.locator(selector).evaluate((element) => {
        element.scrollIntoView({ block: 'start' })
        const { top } = element.getBoundingClientRect()
        element.scrollIntoView({ block: 'end' })
        return top >= 0 && element.getBoundingClientRect().bottom <= innerHeight
      })
      t.ok(seen, `${starter.name}: ${selector}`)
    }
    await screenshot(page, `low-${starter.name}`)
  }
})

t.test('a starter is short, complete, and loads nothing from elsewhere', async (t) => {
  for (const starter of STARTERS) {
    const files = await filesOf(starter)
    const own = files.filter(({ path }) => /^(index\.html|game\.js|room\.js)$/.test(path))
    const text = own.map(({ bytes }) => Buffer.from(bytes).toString()).join('')
    t.ok(text.split('\n').length <= 200, `${starter.name} has fewer than 200 lines: ${text.split('\n').length - 1}`)
    t.notMatch(text, /https?:\/\//, `${starter.name} names no address`)
    const page = Buffer.from(files[0]?.bytes ?? '').toString()
    for (const tag of ['title', 'h1']) t.match(page, `<${tag}>${starter.title}</${tag}>`)
    const imports = [...text.matchAll(/(?:from|src=|href=) ?['"]\.?\/?([\w.-]+)['"]/g)].map(([, path]) => path ?? '')
    for (const path of imports)
      t.ok(
        files.some((file) => file.path === path),
        `${starter.name} has ${path}`,
      )
    const engines = files.filter(({ path }) => path.endsWith('.min.js'))
    t.equal(
      files.some(({ path }) => path.endsWith('-license.txt')),
      engines.length > 0,
      'an engine has its licence',
    )
  }
  t.ok(sizeOf(Object.values(assetsOfStarters())) < 8_000_000, 'all of them take less than 8 MB of the binary')
})

t.test('a title of one’s own replaces that of the starter', async (t) => {
  for (const starter of STARTERS) {
    const [page] = await filesOf(starter, 'Bread & <Butter>')
    const text = Buffer.from(page?.bytes ?? '').toString()
    t.match(text, '<title>Bread &#38; &#60;Butter&#62;</title>')
    t.match(text, '<h1>Bread &#38; &#60;Butter&#62;</h1>')
    t.notMatch(text, `>${starter.title}<`)
  }
})

const sizeOf = (paths: string[]): number => paths.reduce((sum, path) => sum + readFileSync(join(root, path)).length, 0)
