// The starter `authority` with `gameyard dev`: two people play from a folder, each in a window, while its files change.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Page } from 'playwright-core'
import t from 'tap'
import { start } from '../../bin/program.ts'
import { machine } from '../../clients/cli/kit.ts'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { signUp, tokenOf } from '../../system/cluster-players.ts'

t.setTimeout(timeLimit(600))

const WAIT = { timeout: timeLimit(120) }

t.test('two windows play from a folder, and go on after each change', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const config = { blender: { driver: 'none' }, limits: { rateLimits: false } }
  const { portal } = await startServer(t, { config })
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['games:read', 'games:write', 'deployments:write'])
  const mine = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  t.equal((await mine.gameyard('new', 'rush', '--starter', 'authority')).code, 0)
  const edit = (file: string, from: string, to: string) => {
    const path = join(mine.cwd, 'rush', file)
    const text = readFileSync(path, 'utf8')
    if (!text.includes(from)) throw new Error(`${file} has no ${from}.`)
    writeFileSync(path, text.replace(from, to))
  }
  edit('room.js', 'const ROUND = 60_000', 'const ROUND = 4_000')
  const { url: live } = await mine.json('deploy', 'rush', '--create')
  const running = start(t, ['dev', 'rush', '--port', '0', '--json'], { cwd: mine.cwd, env: mine.env })
  await running.says('}')
  const { url } = JSON.parse(running.output().stdout) as { url: string }
  const notes = async (text: string) => {
    while (!running.output().stderr.includes(text)) await once(running.process.stderr as Readable, 'data')
  }

  const windows: Page[] = []
  for (const visitor of [ada, await signUp(portal, 'Grace')]) {
    const { page, context } = await openPage(browser)
    const pairs = visitor.cookies(portal).split('; ')
    const cookies = pairs.map((pair) => ({ name: pair.replace(/=.*/, ''), value: pair.replace(/^[^=]*=/, '') }))
    await context.addCookies(cookies.map((cookie) => ({ ...cookie, url: portal })))
    await page.goto(`${live}/auth/service/start?returnTo=/`)
    await page.goto(url)
    windows.push(page)
  }
  /** Waits until each window is in a room with both players, in a page loaded after the last mark. */
  const areIn = async (what: string) => {
    for (const page of windows) {
      const holds = `!window.marked && window.room?.players.length === 2
        && Object.keys(room.state.get('players') ?? {}).length === 2`
      await page.waitForFunction(holds, undefined, WAIT)
      t.same(await page.evaluate('room.players.map(({ name }) => name).sort()'), ['Ada', 'Grace'], what)
      await page.evaluate('window.marked = true')
    }
  }
  await areIn('both windows are in the room of the folder')
  const [first, second] = windows as [Page, Page]
  await first.bringToFront()
  await first.keyboard.down('ArrowLeft')
  await second.waitForFunction(
    'room.players.some(({ id }) => room.state.get("players")[id]?.x === 14)',
    undefined,
    WAIT,
  )
  await first.keyboard.up('ArrowLeft')
  t.pass('one window sees the other move')
  await notes('is not kept: A preview has no scores and saves.')
  t.pass('the end of a round is in the log of the command')

  edit('index.html', '<title>Coin Rush</title>', '<title>Coin Race</title>')
  await areIn('both windows load a changed page, and nobody has two places')
  t.equal(await first.title(), 'Coin Race')
  edit('room.js', '{ length: 8 }', '{ length: 3 }')
  await areIn('both go on with a changed script')
  for (const page of windows) t.equal(await page.evaluate('room.state.get("coins").length'), 3)
  edit('room.js', 'export function tick(', 'export function tick((')
  await notes('has a mistake at ')
  await areIn('a mistake changes nothing')
  for (const page of windows) t.equal(await page.evaluate('room.state.get("coins").length'), 3)

  const another = await first.context().newPage()
  await another.goto(url)
  await first.locator('#say', { hasText: 'You are out of the room' }).waitFor(WAIT)
  t.pass('a second tab of the same person takes the place of the first')

  running.process.kill('SIGINT')
  t.equal((await running.ended).code, 0)
})
