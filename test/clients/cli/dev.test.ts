import { on, once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
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
  // The platform would refuse a report that is not JSON.
  t.equal(
    await page.evaluate(() => fetch('/__service/errors', { method: 'POST', body: 'x' }).then(({ status }) => status)),
    204,
    'what fails here is no error of players',
  )

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

t.test('the room script of a folder runs apart from the players, and again after a change', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const token = await platform.token()
  const mine = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  const script = (name: string) =>
    `export const message = (room, player) => { room.log('${name} meets', room.id); room.send('hello', '${name}', player) }`
  writeFileSync(join(mine.cwd, 'index.html'), PAGE)
  writeFileSync(join(mine.cwd, 'room.js'), script('live'))
  const { url: live, game } = await mine.json('deploy', '--create')
  const headers = { authorization: `Bearer ${token}` }
  const settings = { multiplayer: { enabled: true, guests: true } }
  await ask('PATCH', `${portal}/api/games/${game.id}`, { headers, body: { settings } })
  const project = join(mine.cwd, 'gameyard.json')
  writeFileSync(project, JSON.stringify({ ...JSON.parse(readFileSync(project, 'utf8')), room: 'room.js' }))
  t.equal((await mine.gameyard('deploy')).code, 0)

  writeFileSync(join(mine.cwd, 'room.js'), script('first'))
  const { running, url } = await startDev(t, mine)
  const notes = async (text: string, times = 1) => {
    const { stderr } = running.process
    while (running.output().stderr.split(text).length <= times)
      await once(stderr as Readable, 'data', { signal: AbortSignal.timeout(20_000) })
  }
  /** Enters a room as a guest, and returns what the script says there. */
  const hello = async (page: string): Promise<unknown> => {
    const { host, origin, port } = new URL(page)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, { headers: { host, origin } })
    t.teardown(() => socket.terminate())
    for await (const [data] of on(socket, 'message', { signal: AbortSignal.timeout(20_000) })) {
      const message = JSON.parse(String(data))
      if (message.t === 'welcome') socket.send(JSON.stringify({ t: 'send', type: 'hi', data: null }))
      if (message.t === 'msg') return message.data
    }
  }
  t.equal(await hello(url), 'first')
  await notes('first meets lobby')
  t.equal(await hello(live), 'live', 'players keep the script of the deploy')

  writeFileSync(join(mine.cwd, 'room.js'), 'export const message = (room => {')
  await notes('has a mistake at ')
  t.equal(await hello(url), 'first', 'a mistake is told, and changes nothing')
  writeFileSync(join(mine.cwd, 'room.js'), script('second'))
  await notes('rooms run room.js', 2)
  t.equal(await hello(url), 'second')

  running.process.kill('SIGINT')
  t.equal((await running.ended).code, 0)
  const { deploys } = (await ask('GET', `${portal}/api/games/${game.id}/deploys`, { headers })).body
  t.same(
    deploys.map(({ state }: { state: string }) => state),
    ['live', 'superseded'],
    'nothing of it stays in the history',
  )
})

t.test('a page that was loading while a file changed reloads, once', async (t) => {
  const mine = machine(t)
  writeFileSync(join(mine.cwd, 'index.html'), PAGE)
  const { url } = await startDev(t, mine, '--offline')
  /** Listens for changes as a page that began to load then. Returns what it is told, by and by. */
  const listen = async (since: number) => {
    const { body } = await fetch(`${url}__service/dev/changes?since=${since}`)
    const chunks = (body as ReadableStream<Uint8Array>).values()
    let text = ''
    return async (ending: string) => {
      while (!text.endsWith(ending)) {
        const { value, done } = await chunks.next()
        if (done) throw new Error(`It ended after ${text}`)
        text += Buffer.from(value).toString()
      }
      return text
    }
  }
  const before = Date.now()
  const first = await listen(before)
  t.equal(await first('\n\n'), 'retry: 500\n\n', 'nothing has changed yet')
  writeFileSync(join(mine.cwd, 'index.html'), PAGE.replace('first', 'second'))
  await first('event: page\ndata: \n\n')
  const loading = await listen(before)
  t.equal(await loading('event: page\ndata: \n\n'), 'retry: 500\n\nevent: page\ndata: \n\n')
  const again = await listen(Date.now() + 1)
  await again('\n\n')
  writeFileSync(join(mine.cwd, 'style.css'), '')
  t.equal(await again('styles\ndata: \n\n'), 'retry: 500\n\nevent: styles\ndata: \n\n', 'which is told nothing of it')
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

  // The rules of the platform, by the code of the platform.
  const raw = async (path: string, headers: Record<string, string> = {}) => {
    const outgoing = request(url.slice(0, -1) + path, { headers }).end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) }
  }
  const sound = Buffer.alloc(300_000, 'sound')
  writeFileSync(join(mine.cwd, 'sound.mp3'), sound)
  const part = await raw('/sound.mp3', { range: 'bytes=5-9' })
  t.match(part, { status: 206, headers: { 'content-range': 'bytes 5-9/300000', 'accept-ranges': 'bytes' } })
  t.equal(part.bytes.toString(), 'sound')
  t.equal((await raw('/sound.mp3', { range: 'bytes=300000-' })).status, 416)
  writeFileSync(join(mine.cwd, 'empty.bin'), '')
  t.match(await raw('/empty.bin'), { status: 200, headers: { 'content-length': '0' } })
  for (const [name, packed] of [
    ['a.data.gz', gzipSync(sound)],
    ['a.data.br', brotliCompressSync(sound)],
  ] as const) {
    writeFileSync(join(mine.cwd, name), packed)
    const coding = name.endsWith('br') ? 'br' : 'gzip'
    const encoded = await raw(`/${name}`, { 'accept-encoding': 'gzip, br' })
    t.match(encoded.headers, { 'content-encoding': coding, vary: 'accept-encoding' })
    t.ok(encoded.bytes.equals(packed))
    const plain = await raw(`/${name}`, { 'accept-encoding': 'deflate' })
    t.match(plain.headers, { 'content-encoding': undefined, vary: 'accept-encoding' })
    t.ok(plain.bytes.equals(sound), `${name} for a client without the coding`)
  }
  writeFileSync(join(mine.cwd, 'backup.tar.gz'), gzipSync('tar'))
  const archive = await raw('/backup.tar.gz', { 'accept-encoding': 'gzip' })
  t.match(archive.headers, { 'content-type': 'application/gzip', 'content-encoding': undefined })
  const latin = Buffer.from('<!doctype html><meta charset=latin1><body>K\xe4se</body>', 'latin1')
  writeFileSync(join(mine.cwd, 'latin.html'), latin)
  const page = await raw('/latin.html', { accept: 'text/html' })
  t.equal(page.headers['content-type'], 'text/html')
  t.ok(page.bytes.includes(Buffer.from('K\xe4se', 'latin1')), 'other encodings stay as they are')
  writeFileSync(join(mine.cwd, 'bare.html'), '<canvas></canvas>')
  t.match((await raw('/bare.html', { accept: 'text/html' })).bytes.toString(), /EventSource/)
  t.equal((await raw('/bare.html', { 'sec-fetch-dest': 'empty' })).bytes.toString(), '<canvas></canvas>')
  writeFileSync(join(mine.cwd, 'sw.js'), 'self')
  t.match((await raw('/sw.js', { 'service-worker': 'script' })).bytes.toString(), /stopImmediatePropagation.*self$/)
  mkdirSync(join(mine.cwd, 'help'))
  writeFileSync(join(mine.cwd, 'help/index.html'), PAGE)
  t.equal((await raw('//add.wasm')).headers['content-type'], 'application/wasm')
  t.equal((await raw('//help//index.html')).status, 200)
  t.match(await raw('//help'), { status: 302, headers: { location: '/help/' } }, 'never to another host')
  for (const dest of ['script', 'image', 'worker'])
    t.equal((await raw('/absent.js', { 'sec-fetch-dest': dest })).status, 404, dest)
  t.equal((await get('/%E0%A4%A')).status, 400)
  t.match(await get('/auth/service/session'), { status: 200, body: { signedIn: false } })
  t.match(await get('/auth/service/start'), { status: 404, body: { error: { message: /--game SLUG/ } } })
  const taken = new URL(url).port
  t.match(await mine.gameyard('dev', '--offline', '--port', taken), {
    code: 1,
    stderr: /is taken[^\n]*\n {2}Choose another: --port/,
  })
})
