import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { formatScore as inBrowsers } from '../../clients/browser/scores/format-score.ts'
import { ScoreQueue } from '../../clients/browser/scores/queue.ts'
import { formatScore } from '../../plugins/scores/format-score.ts'
import { expectNoAxeViolations, openBrowser, openPage, screenshot } from '../kit/browser.ts'
import { inFull } from '../kit/extent.ts'
import { type PlayerClient, startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'

const PAGE = `<!doctype html><html lang="en"><head><title>Laps</title><meta name="viewport" content="width=device-width">
<style>:root { color-scheme: light dark } gameyard-board::part(me) { outline: 2px solid }</style>
<script type="module" src="/__service/scores.js"></script></head>
<body><main><h1>Laps</h1><gameyard-board name="fastest" limit="2"></gameyard-board></main></body></html>`

async function playground(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Laps' })
  await deploy(platform, program, game.id, { 'index.html': PAGE })
  const board = { title: 'Fastest lap', order: 'asc', format: 'milliseconds' }
  await program.put(`/api/games/${game.id}/boards/fastest`, board)
  const origin = platform.app.origins.game(game.slug)
  const host = platform.gameHost(game.slug)
  const open = async (browser: Browser, player: PlayerClient | null) => {
    const opened = await openPage(browser)
    if (player) {
      await signInTo(player, host)
      const cookies = [...player.cookiesOf(host)].map(([name, value]) => ({ name, value, url: origin }))
      await opened.context.addCookies(cookies)
    }
    await opened.page.goto(origin)
    await opened.page.evaluate("import('/__service/scores.js').then(({ board }) => { window.laps = board('fastest') })")
    return opened
  }
  return { platform, owner, gameId: game.id, open }
}

/** The scores that wait in the storage, in their order. */
const waiting = `Object.keys(localStorage).filter((key) => key.startsWith('service.scores.waiting.'))
  .map((key) => JSON.parse(localStorage[key])).sort((one, other) => one.order - other.order).map(({ score }) => score)`

const shown = `[...document.querySelector('gameyard-board').shadowRoot.querySelectorAll('[part~=entry]')]
  .map((entry) => [...entry.children].map(({ textContent }) => textContent).join(' '))`

t.test('a page submits, reads, and sends later what it could not send', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, owner, open } = await playground(t)
  const visitor = await open(browser, null)
  t.match(await visitor.page.evaluate('laps.submit(1).catch(({ name, code }) => ({ name, code }))'), {
    name: 'ScoreError',
    code: 'unauthorized',
  })
  t.match(await visitor.page.evaluate('laps.top()'), { total: 0, me: null })

  const { page, context, complaints } = await open(browser, owner)
  t.match(await page.evaluate('laps.submit(62345, { car: "red" })'), { rank: 1, total: 1, improved: true })
  await page.waitForFunction(`${shown}.length === 1`)
  t.same(await page.evaluate(shown), ['1 Ada 1:02.345'])
  for (const [name, score] of [
    ['Bo', 50_000],
    ['Cy', 60_000],
  ] as const) {
    const player = await platform.signUp({ name })
    const { games } = platform.app
    const gameId = (await games.bySlug('laps'))?.id as string
    await platform.app.scores.submit({ gameId, boardId: 'fastest', playerId: player.id, score, writer: 'players' })
  }
  await page.evaluate("document.querySelector('gameyard-board').refresh()")
  t.same(await page.evaluate(shown), ['1 Bo 0:50.000', '2 Cy 1:00.000', '3 Ada 1:02.345'], 'and the own one below')
  t.match(await page.evaluate('laps.around(1)'), { entries: [{ rank: 3, me: true, detail: { car: 'red' } }] })
  const more = await page.evaluate('laps.top(2).then((list) => laps.more(list))')
  t.match(more, { entries: [{ rank: 3 }], nextCursor: null })
  await expectNoAxeViolations(t, page)
  await screenshot(page, 'gameyard-board')

  await context.setOffline(true)
  t.equal(await page.evaluate('laps.submit(40000)'), null)
  t.equal(await page.evaluate('laps.submit(41000)'), null)
  t.same(await page.evaluate(waiting), [40000, 41000])
  await context.setOffline(false)
  await page.waitForFunction(`${shown}[0] === '1 Ada 0:40.000'`)
  await page.waitForFunction(`${waiting}.length === 0`)
  t.match(await page.evaluate('laps.top(1)'), { me: { rank: 1, score: 40000 } })
  t.same(
    complaints.filter((complaint) => !/ERR_INTERNET_DISCONNECTED|Failed to load resource/.test(String(complaint))),
    [],
  )
})

t.test('scores count in the order in which they were reached', { timeout: timeLimit(120) }, async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const { platform, owner, gameId, open } = await playground(t)
  await platform.app.scores.boards.put(gameId, 'last', { title: 'Last', keep: 'last' })
  const { page, context } = await open(browser, owner)
  await page.evaluate("import('/__service/scores.js').then(({ board }) => { window.last = board('last') })")
  const address = '**/__service/scores/last'
  await page.route(address, (route) => route.abort())
  t.equal(await page.evaluate('last.submit(1)'), null)
  for (const [status, score] of [
    [500, 2],
    [401, 3],
    [451, 3.5],
  ] as const) {
    await page.unroute(address)
    await page.route(address, (route) => route.fulfill({ status, json: { error: { code: 'no', message: 'Later.' } } }))
    t.equal(await page.evaluate(`last.submit(${score})`), null, `${status} refuses no score for good`)
  }
  await page.unroute(address)
  t.match(await page.evaluate('last.submit(4)'), { score: 4, best: 4 })
  t.same(await page.evaluate(waiting), [])
  t.match(await page.evaluate('last.top(1)'), { me: { score: 4 } })

  t.comment('a server of an earlier version, which knows no ids')
  await page.route(address, async (route) => {
    const body = route.request().postData() ?? ''
    await route.continue({ postData: body.replace('submissionId', 'unknownField') })
  })
  t.match(await page.evaluate('last.submit(5)'), { score: 5, best: 5 })
  await context.setOffline(true)
  t.equal(await page.evaluate('last.submit(6)'), null)
  await context.setOffline(false)
  await page.waitForFunction('last.top(1).then(({ me }) => me.score === 6)')
  t.equal(
    await page.evaluate('last.submit(0.5e20).catch(({ code }) => code)'),
    'invalid_request',
    'a real refusal stays',
  )
})

inFull(t)?.test(
  'a score that is sent again counts once, and belongs to whoever made it',
  { timeout: timeLimit(120) },
  async (t) => {
    const browser = await openBrowser(t)
    if (!browser) return
    const { platform, owner, gameId, open } = await playground(t)
    await platform.app.scores.boards.put(gameId, 'sum', { title: 'Sum', keep: 'sum' })
    const address = '**/__service/scores/sum'
    const { page, context } = await open(browser, owner)
    const load = (page: Page) =>
      page.evaluate("import('/__service/scores.js').then(({ board }) => { window.sum = board('sum') })")
    const queue = () => page.evaluate(waiting)
    await load(page)

    t.comment('the answer is lost')
    const lost = await page.evaluate(async () => {
      const original = globalThis.fetch
      globalThis.fetch = async (...request) => {
        await original(...request)
        throw new TypeError('The connection broke.')
      }
      const { sum } = globalThis as unknown as { sum: { submit(score: number): Promise<unknown> } }
      const answer = await sum.submit(1)
      globalThis.fetch = original
      return answer
    })
    t.equal(lost, null)
    for (const status of [500, 451]) {
      await page.route(address, (route) =>
        route.fulfill({ status, json: { error: { code: 'no', message: 'Later.' } } }),
      )
      t.equal(await page.evaluate(`sum.submit(${status})`), null, `${status} throws nothing away`)
      await page.unrouteAll()
    }
    await page.route(address, (route) =>
      route.fulfill({ status: 404, contentType: 'text/html', body: '<h1>Hotel</h1>' }),
    )
    t.equal(await page.evaluate('sum.submit(4)'), null)
    await page.unrouteAll()
    t.same(await queue(), [1, 500, 451, 4])

    t.comment('without a connection')
    await context.setOffline(true)
    for (const wrong of ['NaN', 'Infinity', '"5"', '5, () => 1'])
      t.equal(await page.evaluate(`sum.submit(${wrong}).catch(({ name }) => name)`), 'TypeError', wrong)
    t.equal(await page.evaluate('sum.submit(1, "x".repeat(2000)).catch(({ code }) => code)'), 'payload_too_large')
    await page.evaluate(() => {
      Date.now = () => 1000
    })
    t.equal(await page.evaluate('sum.submit(10)'), null, 'also where the clock says 1970')

    t.comment('another player signs in')
    const bob = await platform.signUp({ name: 'Bob' })
    await context.clearCookies()
    await context.setOffline(false)
    const host = platform.gameHost('laps')
    const enter = async (player: PlayerClient) => {
      await context.clearCookies()
      await signInTo(player, host)
      const url = platform.app.origins.game('laps')
      await context.addCookies([...player.cookiesOf(host)].map(([name, value]) => ({ name, value, url })))
    }
    await enter(bob)
    await page.reload()
    await load(page)
    t.match(await page.evaluate('sum.submit(100)'), { best: 100 })
    t.same(await queue(), [1, 500, 451, 4, 10])

    t.comment('two tabs without locks send the queue')
    await enter(owner)
    await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
    const second = await context.newPage()
    await Promise.all([page.reload(), second.goto(page.url())])
    await Promise.all([load(page), load(second)])
    await page.waitForFunction(`${waiting}.length === 0`)
    t.match(await page.evaluate('sum.top()'), { entries: [{ score: 966, me: true }, { score: 100 }] })

    t.comment('another player has signed in, and the page does not know it')
    await enter(bob)
    t.equal(await page.evaluate('sum.submit(20)'), null)
    t.same(await queue(), [20])

    t.comment('two tabs fill the queue in the same instant')
    await context.setOffline(true)
    const points = Array.from({ length: 40 }, (_, index) => index + 1)
    await Promise.all(
      [page, second].map((tab) =>
        tab.evaluate(`Promise.all(${JSON.stringify(points)}.map((score) => sum.submit(score)))`),
      ),
    )
    t.equal(((await queue()) as number[]).length, 81)
  },
)

/** A storage of a browser, in which something may happen before a value is written. */
class TestStorage {
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? ((this as unknown as Record<string, string>)[key] ?? null) : null
  }
  removeItem(key: string) {
    delete (this as unknown as Record<string, string>)[key]
  }
  setItem(key: string, value: string) {
    beforeWrite()
    Object.assign(this, { [key]: value })
  }
}
let beforeWrite = () => {}

const queued = (score: number) => ({ id: `score-${score}`, name: 'fastest', score, player: 'player' })
const scoresOf = (queue: ScoreQueue) => queue.of('player').map(({ score }) => score)

t.test('a score waits once where the storage is full', async (t) => {
  t.intercept(globalThis, 'localStorage', { value: new TestStorage() })
  const queue = new ScoreQueue()
  queue.add(queued(1))
  beforeWrite = () => {
    throw new DOMException('There is no room.', 'QuotaExceededError')
  }
  queue.add(queued(2))
  t.same(scoresOf(queue), [1, 2])
  beforeWrite = () => {}
  queue.add(queued(3))
  t.same(scoresOf(queue), [1, 2, 3])
  t.same(scoresOf(new ScoreQueue()), [1, 2, 3], 'and is stored once there is room')
})

t.test('two tabs that change the queue in the same instant lose no score', async (t) => {
  t.intercept(globalThis, 'localStorage', { value: new TestStorage() })
  const [one, two] = [new ScoreQueue(), new ScoreQueue()]
  const meanwhile = (work: () => void) => {
    beforeWrite = () => {
      beforeWrite = () => {}
      work()
    }
  }
  meanwhile(() => two.add(queued(1)))
  one.add(queued(2))
  t.same(scoresOf(two).sort(), [1, 2])
  one.add({ ...queued(3), player: null } as never)
  meanwhile(() => two.add(queued(4)))
  one.claim('player')
  meanwhile(() => two.remove(queued(1)))
  one.add(queued(5))
  t.same(scoresOf(one), [2, 3, 4, 5])
})

t.test('the list of scores of an earlier version is taken over once, in its order', async (t) => {
  const storage = new TestStorage()
  t.intercept(globalThis, 'localStorage', { value: storage })
  const list = [{ ...queued(2), id: undefined, at: 1 }, queued(1)]
  storage.setItem('service.scores', JSON.stringify(list))
  beforeWrite = () => {
    beforeWrite = () => {}
    new ScoreQueue()
  }
  const queue = new ScoreQueue()
  t.same(scoresOf(queue), [2, 1], 'by two tabs in the same instant')
  t.equal(storage.getItem('service.scores'), null)
  for (const { id } of queue.all()) t.match(id, /^[\w-]{7,64}$/)
  for (const { id } of queue.all()) queue.remove({ ...queued(0), id })
  t.equal(new ScoreQueue().size, 0)
  for (const text of ['{', '{}', 'null', '[null]']) {
    storage.setItem('service.scores', text)
    t.equal(new ScoreQueue().size, 0, text)
  }
})

t.test('scores look the same in games and on the platform', async (t) => {
  for (const [score, format, text] of [
    [12345.5, { format: 'number', decimals: 1 }, '12,345.5'],
    [-3, { format: 'number', decimals: 0 }, '-3'],
    [62345, { format: 'milliseconds', decimals: 0 }, '1:02.345'],
    [3_723_004, { format: 'milliseconds', decimals: 0 }, '1:02:03.004'],
    [59.96, { format: 'seconds', decimals: 1 }, '1:00.0'],
    [-61, { format: 'seconds', decimals: 0 }, '−1:01'],
    [0, { format: 'seconds', decimals: 0 }, '0:00'],
  ] as const) {
    t.equal(formatScore(score, format), text)
    t.equal(inBrowsers(score, format, 'en'), text)
  }
})
