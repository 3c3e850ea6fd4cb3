// Browsers whose storage does not open, or is closed under the page, and clocks that were wrong without a connection.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { onServer, openGame, saved, signIn, startGame, versionsOnServer } from './browser-kit.ts'

async function prepare(t: Test) {
  const world = await startGame(t)
  const browser = await openBrowser(t)
  if (!browser) return null
  const { page, context } = await openPage(browser)
  await signIn(world, context, world.owner)
  return { world, page, context }
}

t.test('storage that never opens costs only the copy on the device', { timeout: timeLimit(120) }, async (t) => {
  const prepared = await prepare(t)
  if (!prepared) return
  const { world, page, context } = prepared
  await context.addInitScript(() => {
    IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest
  })
  await openGame(page, world.url)
  t.same(await page.evaluate(() => saves.get('a')), undefined)
  await page.evaluate(() => saves.set('a', 1))
  t.same(await onServer(world, world.owner), { a: '1' }, 'on the server when `set` resolves')
  t.same(await page.evaluate(() => Promise.all([saves.get('a'), saves.keys()])), [1, ['a']])
  await saved(page)
})

t.test('a page without storage hears what another tab has saved, and what it has deleted', async (t) => {
  const prepared = await prepare(t)
  if (!prepared) return
  const { world, page, context } = prepared
  await openGame(page, world.url)
  await page.evaluate(() => saves.set('a', 1))
  await saved(page)
  const bare = await context.newPage()
  await bare.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('The user denied permission to access the database.', 'UnknownError')
    }
  })
  await openGame(bare, world.url)
  t.equal(await bare.evaluate(() => saves.get('a')), 1)
  const heard = (page: Page, count: number) =>
    page.waitForFunction(`events.filter(([name]) => name === 'change').length === ${count}`)
  const changes = (page: Page): Promise<unknown[]> =>
    page.evaluate("events.filter(([name]) => name === 'change').map(([, change]) => change)")
  const third = await context.newPage()
  await openGame(third, world.url)
  await third.evaluate(() => saves.get('a'))
  await page.evaluate(() => saves.set('a', 2))
  await heard(bare, 1)
  await page.evaluate(() => saves.delete('a'))
  await heard(bare, 2)
  for (const one of [bare, third]) t.same(await changes(one), [{ key: 'a', value: 2 }, { key: 'a' }])
  await bare.evaluate(() => saves.set('a', 3))
  await saved(page)
  t.equal(await page.evaluate(() => saves.get('a')), 3)
  t.equal((await changes(bare)).length, 2, 'nothing of its own')
  t.equal((await changes(third)).length, 2, 'each once')
})

t.test('storage that is closed and does not open again is said', { timeout: timeLimit(120) }, async (t) => {
  const prepared = await prepare(t)
  if (!prepared) return
  const { world, page } = prepared
  await openGame(page, world.url)
  await page.evaluate(() => saves.set('a', 1))
  await saved(page)
  await page.evaluate(async () => {
    await new Promise((resolve) => Object.assign(indexedDB.deleteDatabase('service-saves'), { onsuccess: resolve }))
    IDBFactory.prototype.open = () => {
      throw new DOMException('The browser keeps nothing.', 'UnknownError')
    }
  })
  t.same(await page.evaluate(() => Promise.all([saves.get('a'), saves.keys()])), [1, ['a']])
  await page.evaluate(() => saves.set('a', 2))
  t.same(await onServer(world, world.owner), { a: '2' })
  t.equal(await page.evaluate(() => saves.get('a')), 2)
  t.match(await page.evaluate("events.filter(([name]) => name === 'error')"), [['error', { code: 'storage_closed' }]])
  await saved(page)
})

t.test('a clock that ran ahead without a connection beats nobody', { timeout: timeLimit(120) }, async (t) => {
  const prepared = await prepare(t)
  if (!prepared) return
  const { world, page, context } = prepared
  await openGame(page, world.url)
  await page.evaluate(() => saves.set('a', 'start'))
  await saved(page)
  await context.setOffline(true)
  await page.evaluate(async () => {
    const now = Date.now
    Date.now = () => now() + 4 * 365 * 86_400_000
    await saves.set('a', 'of the wrong clock')
    Date.now = now
  })
  world.platform.clock.advance(60_000)
  const owner = { gameId: world.game.id, playerId: world.owner.id }
  await world.app.saves.put(owner, 'a', { bytes: Buffer.from('"there"'), contentType: 'application/json' })
  await context.setOffline(false)
  await saved(page)
  t.same(await versionsOnServer(world, world.owner, 'a'), ['"there"', '"of the wrong clock"', '"there"', '"start"'])
})

t.test(
  'a clock that was set ahead, and right again before the connection, beats nobody',
  { timeout: timeLimit(120) },
  async (t) => {
    const prepared = await prepare(t)
    if (!prepared) return
    const { world, page, context } = prepared
    const { clock } = world.platform
    const minute = 60_000
    /** Lets time pass for the server, and for both clocks of the page. */
    const pass = async (ms: number) => {
      clock.advance(ms)
      await page.evaluate((ms) => {
        const [now, ticks] = [Date.now, performance.now.bind(performance)]
        Date.now = () => now() + ms
        performance.now = () => ticks() + ms
      }, ms)
    }
    const owner = { gameId: world.game.id, playerId: world.owner.id }
    await openGame(page, world.url)
    await page.evaluate(() => saves.set('a', 'start'))
    await saved(page)
    await context.setOffline(true)
    await page.evaluate(async (ahead) => {
      const now = Date.now
      Date.now = () => now() + ahead
      await saves.set('a', 'of the wrong clock')
      await saves.set('b', 'alone')
      Date.now = now
    }, 10 * minute)
    await pass(5 * minute)
    await world.app.saves.put(owner, 'a', { bytes: Buffer.from('"there"'), contentType: 'application/json' })
    await pass(15 * minute)
    await context.setOffline(false)
    await saved(page)
    t.same(await versionsOnServer(world, world.owner, 'a'), ['"there"', '"of the wrong clock"', '"there"', '"start"'])
    t.match(await onServer(world, world.owner), { b: '"alone"' })

    t.comment('a right clock still wins')
    await context.setOffline(true)
    await world.app.saves.put(owner, 'a', { bytes: Buffer.from('"before"'), contentType: 'application/json' })
    await pass(5 * minute)
    await page.evaluate(() => saves.set('a', 'newer'))
    await pass(15 * minute)
    await context.setOffline(false)
    await saved(page)
    t.match(await onServer(world, world.owner), { a: '"newer"' })
  },
)
