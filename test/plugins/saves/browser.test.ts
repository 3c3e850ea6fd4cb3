// The script of saves in Chromium: offline, two devices, sign-in and sign-out, a wrong clock, no room.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { BROWSER, openBrowser, openPage } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { Client, PASSWORD, type PlayerClient } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { onServer, openGame, saved, signIn, startGame, versionsOnServer } from './browser-kit.ts'

/** Opens the game for a signed-in player, on a device of its own. */
async function device(t: Test, world: Awaited<ReturnType<typeof startGame>>, player = world.owner) {
  const browser = await openBrowser(t)
  if (!browser) return null
  const { page, context } = await openPage(browser)
  await signIn(world, context, player)
  await openGame(page, world.url)
  return { browser, page, context }
}

t.test('a page reads what it saved: JSON, bytes, and nothing', { timeout: timeLimit(300) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page } = opened
  t.same(
    await page.evaluate(async () => {
      const before = await saves.get('progress')
      await saves.set('progress', { level: 2, name: 'Zoë' })
      await saves.set('picture', new Blob(['<svg/>'], { type: 'image/svg+xml' }))
      await saves.set('bytes', new Uint8Array([1, 2, 255]))
      const picture = (await saves.get('picture')) as Blob
      const bytes = new Uint8Array(await ((await saves.get('bytes')) as Blob).arrayBuffer())
      const wrong = await saves.set('a/b', 1).catch((error) => error.name)
      const none = await saves.set('none', undefined).catch((error) => error.name)
      return [before ?? null, await saves.get('progress'), picture.type, await picture.text(), [...bytes], wrong, none]
    }),
    [null, { level: 2, name: 'Zoë' }, 'image/svg+xml', '<svg/>', [1, 2, 255], 'TypeError', 'TypeError'],
  )
  await saved(page)
  t.match(await onServer(world, world.owner), { progress: '{"level":2,"name":"Zoë"}', picture: '<svg/>' })
  t.same(await page.evaluate(() => saves.keys()), ['bytes', 'picture', 'progress'])
  await page.evaluate(() => saves.delete('bytes'))
  t.same(await page.evaluate(() => saves.keys()), ['picture', 'progress'])
  await saved(page)
  t.notOk('bytes' in (await onServer(world, world.owner)))
  t.equal(await page.evaluate(() => saves.version('progress')), 1)
  t.same(await page.evaluate(() => saves.get('bytes')), undefined)
})

inFull(t)?.test(
  'a new device waits for a slow server before it says what is saved',
  { timeout: timeLimit(120) },
  async (t) => {
    const world = await startGame(t)
    const first = await device(t, world)
    if (!first) return
    await first.page.evaluate(() => saves.set('progress', { level: 2 }))
    await saved(first.page)
    const { page, context } = await openPage(first.browser)
    await signIn(world, context, world.owner)
    await page.route('**/auth/service/session', async (route) => {
      await sleep(2500)
      await route.continue()
    })
    await openGame(page, world.url)
    t.same(await page.evaluate(() => saves.get('progress')), { level: 2 })
  },
)

t.test(
  'a device that was signed out waits for a slow server after the sign-in',
  { timeout: timeLimit(120) },
  async (t) => {
    const world = await startGame(t)
    const owner = { gameId: world.game.id, playerId: world.owner.id }
    await world.app.saves.put(owner, 'a', { bytes: Buffer.from('"of the account"'), contentType: 'application/json' })
    const browser = await openBrowser(t)
    if (!browser) return
    const { page, context } = await openPage(browser)
    await openGame(page, world.url)
    t.same(await page.evaluate(() => saves.get('a')), undefined)
    await signIn(world, context, world.owner)
    await page.route('**/auth/service/session', async (route) => {
      await sleep(2000)
      await route.continue()
    })
    await openGame(page, world.url)
    t.equal(await page.evaluate(() => saves.get('a')), 'of the account')
  },
)

t.test('what is no answer of the server counts as no connection', { timeout: timeLimit(120) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page } = opened
  await page.evaluate(() => saves.set('a', 'sent'))
  await saved(page)
  const login = { contentType: 'text/html', body: '<h1>Welcome to the hotel</h1>' }
  await page.route(/\/__service\/saves(\/\w+)?$/, (route) => route.fulfill(login))
  t.equal(await page.evaluate(() => saves.get('a')), 'sent')
  t.same(await page.evaluate(() => saves.keys()), ['a'])
  t.equal(await page.evaluate(() => saves.get('b').catch((error) => error.code)), 'offline')
  await page.route('**/auth/service/session', (route) => route.fulfill(login))
  await openGame(page, world.url)
  await page.evaluate(() => saves.set('b', 'kept'))
  t.equal(await page.evaluate(() => saves.get('b')), 'kept')
  await page.waitForFunction(() => saves.status === 'offline')
  await page.unrouteAll()
  await page.evaluate(() => dispatchEvent(new Event('online')))
  await saved(page)
  t.same(await onServer(world, world.owner), { a: '"sent"', b: '"kept"' })
})

t.test('a conflict listener that throws stops only its own save', { timeout: timeLimit(120) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page } = opened
  const owner = { gameId: world.game.id, playerId: world.owner.id }
  await world.app.saves.put(owner, 'a', { bytes: Buffer.from('"there"'), contentType: 'application/json' })
  await page.evaluate(async () => {
    saves.on('conflict', () => {
      throw new Error('The listener of the game is wrong.')
    })
    await saves.set('a', 'here')
    await saves.set('b', 'sent')
  })
  await until(async () => 'b' in (await onServer(world, world.owner)))
  t.same(await onServer(world, world.owner), { a: '"there"', b: '"sent"' })
  t.equal(await page.evaluate(() => saves.get('a')), 'here', 'it is on this device')
})

t.test('a database that the browser has closed is opened again', { timeout: timeLimit(120) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page, context } = opened
  // Without a connection only a player whom the server has named can be known.
  t.equal(await page.evaluate(() => saves.get('a')), undefined)
  await page.evaluate(
    () => new Promise((resolve) => Object.assign(indexedDB.deleteDatabase('service-saves'), { onsuccess: resolve })),
  )
  await context.setOffline(true)
  await page.evaluate(() => saves.set('a', 'again'))
  t.equal(await page.evaluate(() => saves.get('a')), 'again')
  await context.setOffline(false)
  await saved(page)
  t.same(await onServer(world, world.owner), { a: '"again"' })
})

t.test('a browser that keeps nothing knows the versions on the server', { timeout: timeLimit(120) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page, context } = opened
  await page.evaluate(() => saves.set('a', 'start'))
  await saved(page)
  await context.addInitScript(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('The browser keeps nothing.', 'UnknownError')
    }
  })
  await openGame(page, world.url)
  const changed = await page.evaluate(async () => {
    const before = await saves.version('a')
    await saves.set('a', 'of version 1', { if: await saves.version('a') })
    await saves.set('a', 'of version 2', { if: await saves.version('a') })
    const old = await saves.set('a', 'of an old one', { if: 1 }).catch(({ code }) => code)
    await saves.delete('a')
    return [before, old, await saves.version('a')]
  })
  t.same(changed, [1, 'save_conflict', null])
})

for (const fate of ['is lost', 'arrives, without an answer'] as const) {
  t.test(
    `two tabs that resolve one conflict lose neither value: the last write of one ${fate}`,
    { timeout: timeLimit(120) },
    async (t) => {
      const world = await startGame(t)
      const opened = await device(t, world)
      if (!opened) return
      const { page: first, context } = opened
      await first.evaluate(() => saves.set('a', 'start'))
      await saved(first)
      const second = await context.newPage()
      await openGame(second, world.url)
      await saved(second)
      const owner = { gameId: world.game.id, playerId: world.owner.id }
      const theirs = { bytes: Buffer.from('"theirs"'), contentType: 'application/json' }
      const write = () => world.app.saves.put(owner, 'a', theirs)
      world.platform.clock.advance(3_600_000)
      await write()
      // Each tab holds its change over version 2, so that both have resolved the conflict.
      const held = new Map<unknown, Route>()
      await context.route('**/__service/saves/a', async (route) => {
        const request = route.request()
        if (request.method() !== 'PUT' || request.headers()['if-match'] === '"1"') return route.continue()
        if (request.headers()['if-match'] === '"2"') return void held.set(request.frame().page(), route)
        if (request.frame().page() !== first) return route.continue()
        if (fate !== 'is lost') await write()
        return route.abort()
      })
      const isHeld = (page: unknown) => until(() => held.get(page))
      await first.evaluate(() => saves.set('a', 'mine'))
      const fromFirst = await isHeld(first)
      await second.evaluate(() => dispatchEvent(new Event('online')))
      const fromSecond = await isHeld(second)
      const failed = first.waitForEvent('requestfailed')
      await fromFirst.continue()
      await failed
      await first.close()
      await fromSecond.continue()
      await second.waitForFunction(() => saves.status !== 'saving')
      await saved(second)
      t.same(await versionsOnServer(world, world.owner, 'a'), ['"theirs"', '"mine"', '"theirs"', '"start"'])
      t.equal(await second.evaluate(() => saves.get('a')), 'theirs')
    },
  )
}

t.test('fifty changes without a connection arrive when it is back', { timeout: timeLimit(300) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page, context } = opened
  await page.evaluate(() => saves.set('slot0', 'before'))
  await saved(page)
  await context.setOffline(true)
  await page.evaluate(async () => {
    for (let change = 0; change < 50; change++) await saves.set(`slot${change % 5}`, { change })
  })
  t.equal(await page.evaluate(() => saves.status), 'offline')
  t.same(await page.evaluate(() => saves.get('slot4')), { change: 49 }, 'and are read meanwhile')
  t.same(await page.evaluate(() => saves.keys()), ['slot0', 'slot1', 'slot2', 'slot3', 'slot4'])
  t.same(await onServer(world, world.owner), { slot0: '"before"' })
  await context.setOffline(false)
  await saved(page)
  t.same(await onServer(world, world.owner), {
    slot0: '{"change":45}',
    slot1: '{"change":46}',
    slot2: '{"change":47}',
    slot3: '{"change":48}',
    slot4: '{"change":49}',
  })

  await context.setOffline(true)
  await page.evaluate(() => saves.set('slot0', 'after'))
  await page.close()
  await context.setOffline(false)
  const next = await context.newPage()
  await openGame(next, world.url)
  await saved(next)
  t.equal((await onServer(world, world.owner)).slot0, '"after"', 'also after the tab was closed')
})

t.test(
  'two devices change one save: both values are kept, and the game may decide',
  { timeout: timeLimit(300) },
  async (t) => {
    const world = await startGame(t)
    const [one, two] = [await device(t, world), await device(t, world)]
    if (!one || !two) return
    const set = (page: typeof one.page, value: unknown) => page.evaluate((value) => saves.set('a', value), value)
    await set(one.page, 'start')
    await saved(one.page)
    await two.page.evaluate(() => saves.get('a'))
    await one.context.setOffline(true)
    await set(one.page, 'one, offline')
    world.platform.clock.advance(60_000)
    await set(two.page, 'two')
    await saved(two.page)
    await one.page.evaluate(() => {
      saves.on('conflict', ({ key, mine, theirs, mineAt, theirsAt }) => {
        globalThis.dispatchEvent(new CustomEvent('asked'))
        Object.assign(globalThis, { asked: [key, mine, theirs, mineAt < theirsAt] })
        return `${mine} and ${theirs}`
      })
    })
    await one.context.setOffline(false)
    await saved(one.page)
    t.same(await one.page.evaluate('asked'), ['a', 'one, offline', 'two', true])
    t.same(await versionsOnServer(world, world.owner, 'a'), [
      '"one, offline and two"',
      '"one, offline"',
      '"two"',
      '"start"',
    ])
    t.equal(await one.page.evaluate(() => saves.get('a')), 'one, offline and two')
    t.match(await one.page.evaluate('events.filter(([name]) => name === "change")'), [
      ['change', { key: 'a', value: 'one, offline and two' }],
    ])

    t.comment('without a listener the newer one wins; the other one stays')
    await two.page.evaluate(() => saves.get('a'))
    await two.context.setOffline(true)
    await set(two.page, 'two, older')
    world.platform.clock.advance(60_000)
    await set(one.page, 'one, newer')
    await saved(one.page)
    await two.context.setOffline(false)
    await saved(two.page)
    t.same((await versionsOnServer(world, world.owner, 'a')).slice(0, 3), [
      '"one, newer"',
      '"two, older"',
      '"one, newer"',
    ])
    t.equal(await two.page.evaluate(() => saves.get('a')), 'one, newer')
  },
)

for (const hours of [-1, 1]) {
  inFull(t)?.test(`a clock that is ${hours} hour wrong decides nothing`, { timeout: timeLimit(300) }, async (t) => {
    const world = await startGame(t)
    const browser = await openBrowser(t)
    if (!browser) return
    const { page, context } = await openPage(browser)
    await context.addInitScript((shift) => {
      const now = Date.now.bind(Date)
      Date.now = () => now() + shift
    }, hours * 3_600_000)
    await signIn(world, context, world.owner)
    await openGame(page, world.url)
    const other = await device(t, world)
    if (!other) return
    const newerIsHere = hours < 0
    await page.evaluate(() => saves.set('a', 'start'))
    await saved(page)
    await other.page.evaluate(() => saves.get('a'))
    const here = async () => {
      await context.setOffline(true)
      await page.evaluate(() => saves.set('a', 'here'))
    }
    const there = async () => {
      await other.page.evaluate(() => saves.set('a', 'there'))
      await saved(other.page)
    }
    // The test's clock stands still, but that of the devices goes on.
    if (newerIsHere) {
      await there()
      await page.waitForTimeout(1500)
      await here()
    } else {
      await here()
      world.platform.clock.advance(60_000)
      await there()
    }
    await context.setOffline(false)
    await saved(page)
    const values = await versionsOnServer(world, world.owner, 'a')
    t.equal(values[0], newerIsHere ? '"here"' : '"there"')
    t.ok(values.includes('"here"') && values.includes('"there"'), 'and both are kept')
  })
}

t.test('what is saved signed out goes to the account at the sign-in', { timeout: timeLimit(300) }, async (t) => {
  const world = await startGame(t)
  const browser = await openBrowser(t)
  if (!browser) return
  const { page, context } = await openPage(browser)
  await openGame(page, world.url)
  await page.evaluate(async () => {
    await saves.set('progress', 'of the device')
    await saves.set('other', 1)
  })
  t.equal(await page.evaluate(() => saves.status), 'offline', 'it is on this device only')
  t.equal(await page.evaluate(() => saves.get('progress')), 'of the device')
  const owner = { gameId: world.game.id, playerId: world.owner.id }
  await world.app.saves.put(owner, 'progress', {
    bytes: Buffer.from('"of the account"'),
    contentType: 'application/json',
  })
  await signIn(world, context, world.owner)
  await openGame(page, world.url)
  await saved(page)
  t.same(
    new Set(await versionsOnServer(world, world.owner, 'progress')),
    new Set(['"of the account"', '"of the device"']),
    'none of the two is lost',
  )
  t.equal((await onServer(world, world.owner)).other, '1')

  t.comment('another player on the same device sees and gets none of it')
  const bob = await world.platform.signUp()
  await context.setOffline(true)
  await page.evaluate(() => saves.set('other', 'not sent yet'))
  await context.clearCookies()
  await signIn(world, context, bob)
  await context.setOffline(false)
  await page.waitForFunction(() => saves.get('other').then((value) => value === undefined))
  t.same(await onServer(world, bob), {})
  await context.clearCookies()
  await openGame(page, world.url)
  t.same(await page.evaluate(() => saves.keys()), [], 'signed out it is not shown')
  await signIn(world, context, world.owner)
  await openGame(page, world.url)
  await saved(page)
  t.equal((await onServer(world, world.owner)).other, '"not sent yet"', 'it waited for its player')
})

inFull(t)?.test(
  'a guest who makes an account keeps the saves, also those that were not sent yet',
  { timeout: timeLimit(120) },
  async (t) => {
    const world = await startGame(t, { config: { auth: { guests: true } } })
    const browser = await openBrowser(t)
    if (!browser) return
    const { page, context } = await openPage(browser)
    const guest = new Client(world.app) as PlayerClient
    const { body } = await guest.post('/api/auth/guest', { name: 'Zoe' })
    await signIn(world, context, guest)
    await openGame(page, world.url)
    await page.evaluate(() => saves.set('sent', 1))
    await saved(page)
    await context.setOffline(true)
    await page.evaluate(() => saves.set('waiting', 2))
    const account = { name: 'Zoe', email: 'zoe@example.org', password: PASSWORD }
    t.equal((await guest.submit('/settings/upgrade', account)).status, 303)
    await signIn(world, context, guest)
    await context.setOffline(false)
    await openGame(page, world.url)
    await saved(page)
    t.same(await onServer(world, body.user), { sent: '1', waiting: '2' })
    t.same(await page.evaluate(() => saves.keys()), ['sent', 'waiting'])
  },
)

inFull(t)?.test(
  'a server without room says so, and takes the save when there is room',
  { timeout: timeLimit(300) },
  async (t) => {
    const limits = { saveBytes: 1000, savesPerPlayer: 2 }
    const world = await startGame(t, { config: { limits } })
    const opened = await device(t, world)
    if (!opened) return
    const { page } = opened
    await page.evaluate(async () => {
      for (const key of ['a', 'b', 'c']) await saves.set(key, key)
      await saves.set('large', 'x'.repeat(2000))
    })
    await page.waitForFunction('events.filter(([name]) => name === "error").length === 2')
    t.match(await page.evaluate('events.filter(([name]) => name === "error")'), [
      ['error', { key: 'c', code: 'saves_full' }],
      ['error', { key: 'large', code: 'save_too_large' }],
    ])
    t.equal(await page.evaluate(() => saves.get('c')), 'c', 'it is on this device')
    t.equal(await page.evaluate(() => saves.status), 'offline')
    await page.evaluate(async () => {
      await saves.delete('a')
      await saves.delete('large')
      await saves.set('c', 'again')
    })
    await saved(page)
    t.same(await onServer(world, world.owner), { b: '"b"', c: '"again"' })
  },
)

inFull(t)?.test('a device without room saves on the server', { timeout: timeLimit(300) }, async (t) => {
  const world = await startGame(t)
  const opened = await device(t, world)
  if (!opened) return
  const { page, context } = opened
  await page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException('There is no room.', 'QuotaExceededError')
    }
  })
  await page.evaluate(() => saves.set('a', 'x'.repeat(100_000)))
  t.equal((await onServer(world, world.owner)).a?.length, 100_002, 'at once')
  await context.setOffline(true)
  t.equal(
    await page.evaluate(() => saves.set('a', 'y'.repeat(100_000)).catch((error) => error.code)),
    'storage_full',
    'and says when neither takes it',
  )
})

inFull(t)?.test('a browser that is killed has lost nothing', { timeout: timeLimit(600) }, async (t) => {
  const world = await startGame(t)
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-profile-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  if (!(await openBrowser(t))) return
  for (let round = 0; round < 5; round++) {
    const context = await chromium.launchPersistentContext(folder, BROWSER)
    await signIn(world, context, world.owner)
    const page = await context.newPage()
    await openGame(page, world.url)
    await saved(page)
    if (round > 0) t.equal((await onServer(world, world.owner)).a, String(round * 10 - 1), `after kill ${round}`)
    await context.setOffline(true)
    await page.evaluate(async (round) => {
      for (let value = 0; value < 10; value++) await saves.set('a', round * 10 + value)
    }, round)
    const devtools = await context.browser()?.newBrowserCDPSession()
    const { processInfo } = (await devtools?.send('SystemInfo.getProcessInfo')) ?? { processInfo: [] }
    const id = processInfo.find(({ type }) => type === 'browser')?.id
    if (id === undefined) throw new Error('The process of the browser is not known.')
    process.kill(id, 'SIGKILL')
    await context.close().catch(() => {})
  }
})
