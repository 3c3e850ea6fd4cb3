// Saves behind proxies that compress: nginx makes entity tags weak, Apache and newer Caddy add the coding to them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { inFull } from '../../kit/extent.ts'
import { nginxCommand, type ProxyCommand, proxyMissing, runProxy } from '../../kit/proxy.ts'
import { freePort } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { signInTo } from '../multiplayer/kit.ts'
import { onServer, openGame, saved, signIn, startGame } from './browser-kit.ts'

type Prepare = (places: { folder: string; port: number; platform: number }) => ProxyCommand

const nginx: Prepare = ({ folder, port, platform }) => {
  const site = `server {
  listen 127.0.0.1:${port};
  gzip on;
  gzip_proxied any;
  gzip_min_length 1;
  gzip_types application/json;
  location / { proxy_pass http://127.0.0.1:${platform}; proxy_set_header Host $http_host; proxy_http_version 1.1; }
}\n`
  writeFileSync(join(folder, 'site.conf'), site)
  return nginxCommand(folder, join(folder, 'site.conf'))
}

const caddy: Prepare = ({ folder, port, platform }) => {
  const text = `{\n\tadmin off\n\tauto_https off\n}\nhttp://:${port} {\n\tencode gzip {\n\t\tminimum_length 1\n\t}\n\treverse_proxy 127.0.0.1:${platform}\n}\n`
  writeFileSync(join(folder, 'Caddyfile'), text)
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  return {
    command: 'caddy',
    arguments: ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
    env,
  }
}

const apache: Prepare = ({ folder, port, platform }) => {
  const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'deflate', 'filter'].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  const text = `${modules.join('\n')}
ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
ProxyPreserveHost On
ProxyPass / http://127.0.0.1:${platform}/
SetOutputFilter DEFLATE
\n`
  writeFileSync(join(folder, 'apache.conf'), text)
  return { command: 'apache2', arguments: ['-d', folder, '-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND'] }
}

const PROXIES = { nginx, caddy, apache2: apache }

async function startProxy(t: Test, prepare: Prepare, platform: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-saves-proxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  await runProxy(t, prepare({ folder, port, platform }), port)
  return port
}

const portOf = (url: string) => Number(new URL(url).port)

t.test('a version survives nginx, Caddy and Apache that compress', async (t) => {
  const world = await startGame(t)
  const { host } = new URL(world.url)
  await signInTo(world.owner, host)
  const cookie = [...world.owner.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
  for (const [name, prepare] of Object.entries(PROXIES)) {
    await t.test(name, { skip: proxyMissing(name) }, async (t) => {
      const port = await startProxy(t, prepare, portOf(world.url))
      const send = (method: string, headers: Record<string, string> = {}, body = '') =>
        new Promise<{ status: number | undefined; headers: Record<string, unknown> }>((done, fail) => {
          const all = { host, cookie, origin: world.url, 'accept-encoding': 'gzip, br, zstd', ...headers }
          request({ host: '127.0.0.1', port, path: `/__service/saves/${name}`, method, headers: all }, (answer) => {
            answer.resume()
            answer.on('end', () => done({ status: answer.statusCode, headers: answer.headers }))
          })
            .on('error', fail)
            .end(body)
        })
      const write = (level: number, headers: Record<string, string>) =>
        send('PUT', { 'content-type': 'application/json', ...headers }, JSON.stringify({ level, x: 'x'.repeat(2000) }))
      t.match(await write(1, { 'if-none-match': '*' }), { status: 201, headers: { 'service-save-version': '1' } })
      const read = await send('GET')
      t.match(read, { status: 200, headers: { 'service-save-version': '1' } })
      const tag = String(read.headers.etag)
      t.comment(`${name} makes ${tag} of "1"`)
      if (name === 'nginx') t.equal(tag, 'W/"1"', 'the proxy rewrites it')
      t.match(await send('GET', { 'if-none-match': tag }), { status: 304 })
      t.match(await write(2, { 'if-match': tag }), { status: 200, headers: { 'service-save-version': '2' } })
      t.match(await write(3, { 'if-match': tag }), { status: 412 })
      t.match(await write(3, { 'service-save-version': '1' }), { status: 412 })
    })
  }
})

for (const [name, prepare] of Object.entries(PROXIES)) {
  inFull(t)?.test(
    `two devices behind ${name} save over each other's values`,
    { skip: proxyMissing(name), timeout: timeLimit(120) },
    async (t) => {
      const world = await startGame(t)
      const port = await startProxy(t, prepare, portOf(world.url))
      const { host } = new URL(world.url)
      const browser = await openBrowser(t, [`--host-resolver-rules=MAP ${host} 127.0.0.1:${port}`])
      if (!browser) return
      const sent: string[] = []
      const device = async () => {
        const { page, context } = await openPage(browser)
        page.on('request', (request) => sent.push(request.method()))
        await signIn(world, context, world.owner)
        await openGame(page, world.url)
        return page
      }
      const [one, two] = [await device(), await device()]
      const play = async (page: typeof one) => {
        await page.evaluate(async () => {
          const { level } = ((await saves.get('a')) ?? { level: 0 }) as { level: number }
          await saves.set('a', { level: level + 1, x: 'x'.repeat(2000) })
        })
        await saved(page)
      }
      for (const page of [one, two, one, two]) await play(page)
      t.match(JSON.parse((await onServer(world, world.owner)).a ?? ''), { level: 4 })
      t.equal(sent.filter((method) => method === 'PUT').length, 4, 'and each was sent once')
    },
  )
}

t.test(
  'a save that the server keeps refusing waits, and the others are sent',
  { timeout: timeLimit(120) },
  async (t) => {
    const world = await startGame(t)
    const browser = await openBrowser(t)
    if (!browser) return
    const { page, context } = await openPage(browser)
    let refused = 0
    await page.route('**/__service/saves/a', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      refused++
      await route.fulfill({ status: 412, json: { error: { code: 'save_conflict', message: '' }, version: 7 } })
    })
    await page.clock.install()
    await signIn(world, context, world.owner)
    await openGame(page, world.url)
    // The jump of the clock would end the wait for the browser's database.
    await page.evaluate(() => saves.get('b'))
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.evaluate(async () => {
      await saves.set('a', 1)
      await saves.set('b', 1)
    })
    await until(async () => 'b' in (await onServer(world, world.owner)))
    t.equal(refused, 2, 'the second attempt comes at once')
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await page.evaluate(() => saves.set('b', 2))
    await until(async () => (await onServer(world, world.owner)).b === '2')
    t.equal(refused, 2, 'and no other one before its time')
    await page.clock.runFor(1000)
    await until(() => refused === 3)
    t.equal(await page.evaluate(() => saves.status), 'saving', 'there is a connection')
    // The ten seconds begin when the page has read the third refusal, which may be later.
    await until(async () => {
      await page.clock.runFor(1000)
      return page.evaluate("events.some(([name, { code }]) => name === 'error' && code === 'save_conflict')")
    })
  },
)
