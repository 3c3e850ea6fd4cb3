// Tests the data that the previous game left in browsers when its domain moves to another game: with requests, over two
// nodes, and in Chromium.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { get, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openBrowser } from '../../kit/browser.ts'
import { type Dns, publish, startDns } from '../../kit/dns.ts'
import { inFull } from '../../kit/extent.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { BEHIND_PROXY, startTlsProxy } from '../../kit/tls-proxy.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'

const HOST = 'play.maker.test'
const CLEARS = '"cache", "storage"'

const start = (t: Test, dns: Dns, config: Record<string, unknown> = {}) =>
  startPlatform(t, {
    listen: true,
    config: { ...BEHIND_PROXY, ...config, plugins: { domains: { resolvers: [dns.address] } } },
  })

/** Creates a game of a new player, with functions that move the domain to and from it. */
async function gameAt(platform: Platform, dns: Dns, title: string, files: Record<string, string>) {
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const { id } = await platform.game(owner, { title })
  await deploy(platform, program, id, files)
  const domains = `/api/games/${id}/domains`
  return {
    id: id as string,
    program,
    async take() {
      const { body } = await program.post(domains, { name: HOST })
      publish(dns, body.records)
      const { body: verified } = await program.post(`${domains}/${HOST}/verify`)
      if (verified.state !== 'verified') throw new Error(`${HOST} was not verified: ${JSON.stringify(verified)}`)
    },
    /** Sets or unsets it as the primary address. */
    lead: (at: string, primary: boolean) => program.patch(`${domains}/${at}`, { primary }),
    giveUp: () => program.delete(`${domains}/${HOST}`),
    /** Adds another verified domain. */
    async also(name: string) {
      publish(dns, (await program.post(domains, { name })).body.records)
      await program.post(`${domains}/${name}/verify`)
    },
  }
}

/** Sends a request to a node over a real socket, as a browser that visits the domain. */
async function visit(platform: Platform, path = '/', headers: Record<string, string> = {}) {
  const { port } = platform.app.server.address() as AddressInfo
  const sent = { host: HOST, accept: 'text/html', 'x-forwarded-proto': 'https', ...headers }
  return new Promise<{ status: number; body: string; headers: IncomingHttpHeaders }>((done, failed) => {
    const request = get({ host: '127.0.0.1', port, path, headers: sent, agent: false }, async (response) => {
      done({ status: response.statusCode as number, body: await text(response), headers: response.headers })
    })
    request.on('error', failed)
  })
}

const markOf = ({ headers }: { headers: IncomingHttpHeaders }) =>
  headers['set-cookie']?.find((cookie) => cookie.startsWith('__Host-service_site='))?.split(';')[0]

t.test('the next game at a domain has browsers clear what the former left there, once', async (t) => {
  const dns = await startDns(t)
  const platform = await start(t, dns)
  const first = await gameAt(platform, dns, 'First', { 'index.html': 'first', 'main.js': '1' })
  const second = await gameAt(platform, dns, 'Second', { 'index.html': 'second', 'main.js': '2', 'sw.js': '' })

  await first.take()
  for (let visits = 0; visits < 3; visits++) {
    const page = await visit(platform)
    t.match(page, { status: 200, body: 'first' })
    t.equal(page.headers['clear-site-data'], undefined, 'nobody was there before')
  }
  await first.giveUp()
  t.equal((await visit(platform)).status, 421)
  await second.take()

  const cookie = '__Host-save=1; score=2; __Host-service_session=old; theme=dark'
  const cleared = await visit(platform, '/', { cookie })
  t.match(cleared, { status: 200, body: 'second', headers: { 'clear-site-data': CLEARS } })
  t.same(cleared.headers['set-cookie']?.slice(1), [
    '__Host-save=; Path=/; Max-Age=0; Secure',
    'score=; Path=/; Max-Age=0; Secure',
    `score=; Path=/; Max-Age=0; Secure; Domain=${HOST}`,
    'theme=; Path=/; Max-Age=0; Secure',
    `theme=; Path=/; Max-Age=0; Secure; Domain=${HOST}`,
  ])
  const mark = markOf(cleared) as string
  t.equal(mark, `__Host-service_site=${second.id}`)
  const again = await visit(platform, '/', { cookie: `${mark}; score=3` })
  t.equal(again.headers['clear-site-data'], undefined, 'once')
  t.same(again.headers['set-cookie']?.length, 1, 'what is set now is the second game’s; the mark lives on')
  t.equal((await visit(platform, '/main.js', { accept: '*/*' })).headers['clear-site-data'], undefined)
  const update = await visit(platform, '/sw.js', { accept: '*/*', 'service-worker': 'script' })
  t.equal(update.headers['clear-site-data'], CLEARS, 'a worker’s update too')
  const many = Array.from({ length: 150 }, (_, at) => `cookie-${at}=1`).join('; ')
  const most = (await visit(platform, '/', { cookie: many })).headers['set-cookie']
  t.ok(most && most.length > 20 && most.join('').length < 3000, 'no more than a proxy takes in a header')
  const slug = await visit(platform, '/', { host: 'second.games.test' })
  t.equal(slug.headers['clear-site-data'], undefined, 'its own address had no other')

  await second.also('www.maker.test')
  await second.lead('www.maker.test', true)
  const led = await visit(platform)
  t.match(led, { status: 302, headers: { location: 'https://www.maker.test/', 'clear-site-data': CLEARS } })
  await second.giveUp()

  await first.take()
  const back = await visit(platform, '/', { cookie: mark })
  t.match(back, { body: 'first', headers: { 'clear-site-data': CLEARS } }, 'and when it comes back')
  t.equal((await visit(platform, '/', { cookie: markOf(back) as string })).headers['clear-site-data'], undefined)
})

t.test('over nodes: each knows what another one served there meanwhile', needsPostgres, async (t) => {
  const dns = await startDns(t)
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  // Each node has its own folder, and both share one blob folder.
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-nodes-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [one, two] = ['one', 'two'].map((name) => join(folder, name)) as [string, string]
  for (const path of [join(one, 'blobs'), two]) mkdirSync(path, { recursive: true, mode: 0o700 })
  symlinkSync(join(one, 'blobs'), join(two, 'blobs'))
  const here = await start(t, dns, { ...config, dataDir: one })
  const there = await start(t, dns, { ...config, dataDir: two })
  const first = await gameAt(here, dns, 'First', { 'index.html': 'first' })
  const second = await gameAt(here, dns, 'Second', { 'index.html': 'second' })
  /**
   * Waits for a page's content. The nodes share no bus, so the other one sees a change when it next polls the tables.
   */
  const shows = (node: Platform, body: string) =>
    until(async () => {
      const page = await visit(node)
      return page.status === 200 && page.body.includes(body) && page
    })
  await first.take()
  for (const node of [here, there]) {
    t.equal((await shows(node, 'first')).headers['clear-site-data'], undefined)
    t.equal((await visit(node)).headers['clear-site-data'], undefined)
  }
  here.clock.advance(1000)
  await first.giveUp()
  await second.take()
  t.equal((await shows(there, 'second')).headers['clear-site-data'], CLEARS, 'only this node is asked meanwhile')
  here.clock.advance(1000)
  await second.giveUp()
  await first.take()
  t.equal((await shows(here, 'first')).headers['clear-site-data'], CLEARS, 'though this node served nothing else there')
})

inFull(t)?.test(
  'in Chromium: worker, storage and cookies of the former game are gone',
  { timeout: timeLimit(200) },
  async (t) => {
    const dns = await startDns(t)
    const platform = await start(t, dns)
    const proxy = await startTlsProxy(t, platform.app.server.address() as AddressInfo)
    const browser = proxy && (await openBrowser(t, proxy.chromiumFlags))
    if (!browser) return
    const page = await (await browser.newContext()).newPage()
    const first = await gameAt(platform, dns, 'First', {
      'index.html': '<!doctype html><title>first</title><p>first</p>',
      'sw.js': `oninstall = () => skipWaiting()
      onactivate = (event) => event.waitUntil(clients.claim())
      onfetch = (event) => {
        if (event.request.mode !== 'navigate') return
        event.respondWith(new Response('<title>worker</title>', { headers: { 'content-type': 'text/html' } }))
      }`,
    })
    const second = await gameAt(platform, dns, 'Second', {
      'index.html': '<!doctype html><title>second</title><p>second</p>',
    })
    const address = `https://${HOST}/`
    await first.take()
    await page.goto(address)
    await page.evaluate(`(async () => {
    localStorage.save = 'first'
    document.cookie = 'score=first; Max-Age=86400'
    document.cookie = '__Host-save=first; Secure; Path=/; Max-Age=86400'
    document.cookie = 'wide=first; Max-Age=86400; Domain=${HOST}'
    await (await caches.open('first')).put('/kept', new Response('first'))
    await new Promise((done) => { indexedDB.open('first').onsuccess = ({ target }) => done(target.result.close()) })
    await navigator.serviceWorker.register('/sw.js')
    await navigator.serviceWorker.ready
  })()`)
    // A service worker checks for its next version a second after its last use.
    const titled = (title: string) =>
      until(async () => {
        if ((await page.title()) === title) return true
        await page.goto(address)
        if ((await page.title()) === title) return true
        return void (await sleep(timeLimit(2)))
      }, 180)
    await titled('worker')
    await first.giveUp()
    await second.take()

    await titled('second')
    const found = `(async () => ({
    storage: Object.keys(localStorage),
    cookies: document.cookie,
    caches: await caches.keys(),
    databases: (await indexedDB.databases()).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
  }))()`
    t.same(await page.evaluate(found), { storage: [], cookies: '', caches: [], databases: 0, workers: 0 })

    await page.evaluate(`localStorage.save = 'second'; document.cookie = 'score=second'`)
    for (let visits = 0; visits < 3; visits++) await page.goto(address)
    t.match(await page.evaluate(found), { storage: ['save'], cookies: 'score=second' }, 'what is its own stays')
  },
)
