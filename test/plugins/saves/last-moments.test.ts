// What a page saves while it closes, and who gets what is saved before it is known who plays.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { onServer, openGame, saved, signIn, startGame, versionsOnServer } from './browser-kit.ts'

async function openSignedIn(t: Test) {
  const world = await startGame(t)
  const browser = await openBrowser(t)
  if (!browser) return null
  const { page, context } = await openPage(browser)
  await signIn(world, context, world.owner)
  await openGame(page, world.url)
  return { world, browser, page, context }
}

/** Saves when the page ends, as games do. */
const saveAtEnd = (page: Page, event: string, value: string) =>
  page.evaluate(
    ([event, value]) => {
      const target = event === 'visibilitychange' ? document : window
      target.addEventListener(event, () => void saves.set('a', value))
    },
    [event, value] as const,
  )

const LARGE = 32 * 1024 - 2

t.test('a save of a closing page is never lost', { timeout: timeLimit(300) }, async (t) => {
  const opened = await openSignedIn(t)
  if (!opened) return
  const { world, page: first, context } = opened
  let page = first
  await page.evaluate(() => saves.set('a', 'start'))
  await saved(page)
  const endings = ['pagehide', 'visibilitychange', 'beforeunload']
  for (let round = 0; round < amount(2, 36); round++) {
    const event = endings[round % endings.length] as string
    const value = `${round} in ${event} `.padEnd(LARGE, 'x')
    await saveAtEnd(page, event, value)
    const isOffline = round % 4 === 1
    // The answer to the last request must not come before the page is gone.
    if (isOffline) await context.setOffline(true)
    await page.close({ runBeforeUnload: true })
    await until(() => page.isClosed())
    page = await context.newPage()
    await context.setOffline(false)
    await openGame(page, world.url)
    t.equal(await page.evaluate(() => saves.get('a')), value, `${round}: ${event}`)
    await saved(page)
    t.equal((await onServer(world, world.owner)).a, JSON.stringify(value), 'and it is on the server')
    t.equal(await page.evaluate(() => Object.keys(localStorage).length), 0, 'nothing is left over')
  }
})

inFull(t)?.test(
  'what a closing page saves is on the server before the next page',
  { timeout: timeLimit(120) },
  async (t) => {
    const opened = await openSignedIn(t)
    if (!opened) return
    const { world, page } = opened
    await page.evaluate(() => saves.set('a', 'start'))
    await saved(page)
    await saveAtEnd(page, 'pagehide', 'end')
    await page.goto('about:blank')
    await until(async () => (await onServer(world, world.owner)).a === '"end"')
    await openGame(page, world.url)
    await saved(page)
    t.same(await versionsOnServer(world, world.owner, 'a'), ['"end"', '"start"'], 'once')
  },
)

inFull(t)?.test('what pages left and what was saved later keep their order', { timeout: timeLimit(120) }, async (t) => {
  const opened = await openSignedIn(t)
  if (!opened) return
  const { world, page, context } = opened
  await page.evaluate(() => saves.set('sent', 'newer'))
  await saved(page)
  await context.setOffline(true)
  await page.evaluate(async (player) => {
    await saves.set('waiting', 'newer')
    // As an earlier page has left them.
    const entry = { account: player, offset: null, setAt: Date.now() - 3_600_000 }
    const value = { type: 'application/json', text: '"older"' }
    for (const key of ['sent', 'waiting', 'other'])
      localStorage.setItem(`service.saves.x.${key}`, JSON.stringify({ ...entry, id: `x.${key}`, key, value }))
    localStorage.setItem('service.saves.x.bad', '{')
  }, world.owner.id)
  const next = await context.newPage()
  await page.close()
  await context.setOffline(false)
  await openGame(next, world.url)
  await saved(next)
  t.same(await onServer(world, world.owner), { sent: '"newer"', waiting: '"newer"', other: '"older"' })
  for (const key of ['sent', 'waiting'])
    t.ok((await versionsOnServer(world, world.owner, key)).includes('"older"'), `${key} keeps both`)
  t.equal(await next.evaluate(() => Object.keys(localStorage).length), 0)
})

inFull(t)?.test(
  'the next player at a computer never meets the saves of the former',
  { timeout: timeLimit(120) },
  async (t) => {
    const opened = await openSignedIn(t)
    if (!opened) return
    const { world, page, context } = opened
    await page.evaluate(() => saves.set('a', 'of Ada'))
    await saved(page)
    await context.setOffline(true)
    await page.evaluate(() => saves.set('a', 'of Ada, not sent'))
    await page.close()
    const bob = await world.platform.signUp()
    await context.clearCookies()
    await signIn(world, context, bob)
    await context.setOffline(false)
    const next = await context.newPage()
    // A slow line: the answer comes when both calls of the game have waited for longer than a second.
    let answer = () => {}
    const isAnswered = new Promise<void>((done) => {
      answer = done
    })
    await next.route('**/auth/service/session', async (route) => {
      await isAnswered
      await route.continue()
    })
    await openGame(next, world.url)
    const read = next.evaluate(async () => {
      const before = saves.get('a')
      const set = saves.set('b', 'of Bob')
      return [(await before) ?? null, await set, await saves.keys()]
    })
    await sleep(1500)
    answer()
    t.same(await read, [null, undefined, ['b']])
    await saved(next)
    t.same(await onServer(world, bob), { b: '"of Bob"' })
    t.same(await onServer(world, world.owner), { a: '"of Ada"' })
  },
)

inFull(t)?.test(
  'what a page saved before it knew its player goes to that player',
  { timeout: timeLimit(120) },
  async (t) => {
    const opened = await openSignedIn(t)
    if (!opened) return
    const { world, context, page } = opened
    await saved(page)
    const next = await context.newPage()
    await next.route('**/auth/service/session', () => {})
    await openGame(next, world.url)
    await next.evaluate(() => void saves.set('a', 'early'))
    await next.close()
    await openGame(page, world.url)
    t.equal(await page.evaluate(() => saves.get('a')), 'early')
    await saved(page)
    t.same(await onServer(world, world.owner), { a: '"early"' })
  },
)
