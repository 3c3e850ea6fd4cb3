import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { start } from '../../bin/program.ts'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { ask } from '../../kit/upload.ts'
import { type Machine, machine, PASSWORD, startTestServer } from './kit.ts'

const PAGE = `<!doctype html><title>Duo</title><link rel="stylesheet" href="/style.css"><body><h1>first</h1></body>`

/** Starts `gameyard dev` on a free port. */
async function startDev(t: Test, { cwd, env }: Machine, ...arguments_: string[]) {
  const running = start(t, ['dev', '--port', '0', '--json', ...arguments_], { cwd, env })
  await running.says('}')
  return { running, ...(JSON.parse(running.output().stdout) as { url: string; game: string | null }) }
}

t.test('a game is played from a folder: signed in, in a room, reloaded on change', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const mine = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: portal })
  writeFileSync(join(mine.cwd, 'index.html'), PAGE)
  writeFileSync(join(mine.cwd, 'style.css'), 'h1 { color: rgb(1, 1, 1) }')
  const { url: live } = await mine.json('deploy', '--create')
  const { running, url } = await startDev(t, mine)
  t.match(url, /^http:\/\/duo(-\d+)?\.localhost:\d+\/$/)

  const { page, context, complaints } = await openPage(browser)
  await page.goto(url)
  await page.getByRole('heading', { name: 'first' }).waitFor()
  // The platform's button in the page leads to a sign-in in another tab.
  const opened = context.waitForEvent('page')
  await page.getByRole('link', { name: /sign in/i }).click()
  const popup = await opened
  await popup.getByLabel('Email').fill(platform.email)
  await popup.getByLabel('Password').fill(PASSWORD)
  await popup.locator('main').getByRole('button').first().click()
  await page.waitForURL(url)
  await page.getByText('Ada').first().waitFor()
  const session = await page.evaluate(() => fetch('/auth/service/session').then((answer) => answer.json()))
  t.match(session, { signedIn: true, user: { name: 'Ada' } })

  const join_ = `import('/__service/multiplayer.js').then(async ({ join }) => { globalThis.room = await join('lobby') })`
  await page.evaluate(join_)
  const other = await context.newPage()
  await other.goto(`${live}/`)
  await other.evaluate(join_)
  await page.waitForFunction('globalThis.room.players.length === 2')
  t.pass('the folder and the deployed game meet in a room')

  await page.evaluate('globalThis.stays = true')
  writeFileSync(join(mine.cwd, 'style.css'), 'h1 { color: rgb(2, 2, 2) }')
  await page.waitForFunction(`getComputedStyle(document.querySelector('h1')).color === 'rgb(2, 2, 2)'`)
  t.equal(await page.evaluate('globalThis.stays'), true, 'a style sheet is changed in the page as it is')
  writeFileSync(join(mine.cwd, 'index.html'), PAGE.replace('first', 'second'))
  await page.getByRole('heading', { name: 'second' }).waitFor()
  t.match((await ask('GET', `${live}/`)).body, 'first', 'and nothing is published by it')
  t.same(
    complaints.filter((complaint) => !/favicon/.test(complaint)),
    [],
  )

  running.process.kill('SIGINT')
  t.equal((await running.ended).code, 0)
})

t.test('without a platform the files are served as a game origin would', async (t) => {
  const mine = machine(t)
  writeFileSync(join(mine.cwd, 'index.html'), PAGE)
  writeFileSync(join(mine.cwd, '.env'), 'SECRET=1')
  writeFileSync(join(mine.cwd, 'add.wasm'), '')
  const { url } = await startDev(t, mine, '--offline')
  const get = (path: string) => ask('GET', url.slice(0, -1) + path)
  t.match(await get('/'), { status: 200, body: /<h1>first<\/h1>[\s\S]*EventSource/ })
  t.match(await get('/some/route'), { status: 200, body: /first/ }, 'a single page has routes of its own')
  t.match(await get('/add.wasm'), { status: 200, headers: { 'content-type': 'application/wasm' } })
  t.notMatch((await get('/.env')).body, /SECRET/)
  t.equal((await get('/%E0%A4%A')).status, 400)
  t.match(await get('/auth/service/session'), { status: 404, body: { error: { message: /--game SLUG/ } } })
  const taken = new URL(url).port
  t.match(await mine.gameyard('dev', '--offline', '--port', taken), {
    code: 1,
    stderr: /is taken[^\n]*\n {2}Choose another: --port/,
  })
})
