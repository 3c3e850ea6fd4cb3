// Two tabs of one browser with the same game.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { onServer, openGame, saved, signIn, startGame, versionsOnServer } from './browser-kit.ts'

/** @param fragment of the old tab's address */
async function openTwice(t: Test, fragment = '') {
  const world = await startGame(t)
  const browser = await openBrowser(t)
  if (!browser) return null
  const { page: old, context } = await openPage(browser)
  await signIn(world, context, world.owner)
  await openGame(old, world.url + fragment)
  await set(old, { level: 3 })
  await saved(old)
  const fresh = await context.newPage()
  await openGame(fresh, world.url)
  await fresh.evaluate(() => saves.get('a'))
  return { world, context, old, fresh }
}

const set = (page: Page, value: unknown) => page.evaluate((value) => saves.set('a', value), value)

/** Makes a page note the conflicts of its saves, and decide them for the higher level. */
const decide = (page: Page) =>
  page.evaluate(() => {
    Object.assign(globalThis, { asked: [] })
    saves.on('conflict', ({ mine, theirs }) => {
      const levels = [mine, theirs] as { level: number }[]
      ;(globalThis as unknown as { asked: unknown[] }).asked.push(levels.map(({ level }) => level))
      return (levels[0]?.level ?? 0) > (levels[1]?.level ?? 0) ? mine : theirs
    })
  })

const eventsOf = (page: Page, name: string) =>
  page.evaluate(`events.filter(([name]) => name === '${name}').map(([, value]) => value)`)

for (const isSent of [true, false]) {
  t.test(
    `a value that an old tab has not read is a conflict, ${isSent ? 'sent' : 'or not sent yet'}`,
    { timeout: timeLimit(120) },
    async (t) => {
      const opened = await openTwice(t, '#deaf')
      if (!opened) return
      const { world, context, old, fresh } = opened
      await decide(old)
      if (!isSent) await context.setOffline(true)
      await set(fresh, { level: 50 })
      if (isSent) await saved(fresh)
      await set(old, { level: 4 })
      t.same(await old.evaluate('asked'), [[4, 50]], 'the game decides')
      t.same(await old.evaluate(() => saves.get('a')), { level: 50 })
      await set(old, { level: 51 })
      t.same(await old.evaluate('asked'), [[4, 50]], 'once')
      await context.setOffline(false)
      await saved(old)
      await saved(fresh)
      t.same(await onServer(world, world.owner), { a: '{"level":51}' })
      const kept = await versionsOnServer(world, world.owner, 'a')
      for (const level of [3, 50]) t.ok(kept.includes(`{"level":${level}}`), `level ${level} is kept`)
    },
  )
}

t.test('without a listener the newer value wins, and both are kept', { timeout: timeLimit(120) }, async (t) => {
  const opened = await openTwice(t, '#deaf')
  if (!opened) return
  const { world, context, old, fresh } = opened
  await context.setOffline(true)
  await set(fresh, { level: 50 })
  for (const level of [4, 5, 6]) await set(old, { level })
  await context.setOffline(false)
  await saved(old)
  const kept = await versionsOnServer(world, world.owner, 'a')
  t.same(new Set(kept), new Set(['{"level":6}', '{"level":50}', '{"level":3}']))
  t.equal(kept[0], '{"level":6}')
})

t.test('tabs tell each other what they save, and that they are there', { timeout: timeLimit(120) }, async (t) => {
  const opened = await openTwice(t)
  if (!opened) return
  const { old, fresh } = opened
  await decide(old)
  await set(fresh, { level: 50 })
  await old.waitForFunction("events.some(([name, value]) => name === 'change' && value.value.level === 50)")
  await set(old, { level: 51 })
  t.same(await old.evaluate('asked'), [], 'a tab that has heard of a value has read it')
  await fresh.waitForFunction("events.some(([name, value]) => name === 'change' && value.value.level === 51)")
  for (const page of [old, fresh]) t.same(await eventsOf(page, 'elsewhere'), [{ open: true }])
  t.same(
    await fresh.evaluate(() => new Promise((done) => saves.on('elsewhere', done))),
    { open: true },
    'also a listener that comes later hears it',
  )
  await fresh.close()
  await old.waitForFunction("events.some(([name, value]) => name === 'elsewhere' && !value.open)")
})

t.test('the value that an old tab has replaced outlives its next saves', { timeout: timeLimit(120) }, async (t) => {
  const opened = await openTwice(t, '#deaf')
  if (!opened) return
  const { world, old, fresh } = opened
  await set(fresh, { level: 50 })
  await saved(fresh)
  for (let level = 4; level < 12; level++) {
    await set(old, { level })
    await saved(old)
  }
  t.ok((await versionsOnServer(world, world.owner, 'a')).includes('{"level":50}'))
})
