import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type Blobs, DiskCache } from '../../../core/data/disk-cache.ts'
import { createLog } from '../../../core/observe/log.ts'
import { Client, startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { deploy, sha256 } from './kit.ts'

const INDEX = `<!doctype html><html><head><title>Pong</title></head><body>${'pong '.repeat(400)}</body></html>`
const SCRIPT = 'export const pong = "pong"\n'.repeat(400)

async function published(t: Test, fields: Record<string, unknown> = {}) {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const game = await platform.game(owner, fields)
  const program = await platform.program(owner)
  const deployId = await deploy(platform, program, game.id, { 'index.html': INDEX, 'main.js': SCRIPT })
  const get = (path: string, headers: Record<string, string> = {}, host = platform.gameHost(game.slug)) =>
    platform.stranger.get(path, { host, headers })
  return { platform, owner, program, game, deployId, get }
}

/** Returns what a link leads to; nothing for one that has gone. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

/** Returns the raw bytes, because `text` would not preserve a content coding. */
async function bytesOf(
  t: Test,
  { platform, game }: Awaited<ReturnType<typeof published>>,
  path: string,
  accepts: string,
) {
  const headers = { host: platform.gameHost(game.slug), 'accept-encoding': accepts }
  const { rawPayload, headers: got } = await platform.app.inject({ url: path, headers })
  t.equal(got['content-length'], String(rawPayload.length))
  return { bytes: rawPayload, headers: got }
}

t.test('compressed forms are sent to whom takes them', async (t) => {
  const site = await published(t)
  const forms = async () => (await site.platform.app.deploys.manifest(site.deployId))?.get('main.js')?.encodings.length
  t.ok(await until(async () => (await forms()) === 2), 'made in the background')
  site.platform.clock.advance(6000)
  const br = await bytesOf(t, site, '/main.js', 'gzip, deflate, br, zstd')
  t.equal(brotliDecompressSync(br.bytes).toString(), SCRIPT)
  t.match(br.headers, { 'content-encoding': 'br', vary: 'accept-encoding', 'content-type': /^text\/javascript/ })
  const gzip = await bytesOf(t, site, '/main.js', 'gzip')
  t.equal(gunzipSync(gzip.bytes).toString(), SCRIPT)
  const plain = await bytesOf(t, site, '/main.js', 'br;q=0, identity')
  t.equal(plain.bytes.toString(), SCRIPT)
  t.match(plain.headers, { vary: 'accept-encoding', 'content-encoding': undefined })
  const tags = [br, gzip, plain].map(({ headers }) => headers.etag)
  t.equal(new Set(tags).size, 3, 'each form has its own entity tag')
  const again = await site.get('/main.js', { 'accept-encoding': 'br', 'if-none-match': tags[0] as string })
  t.match(again, { status: 304, headers: { vary: 'accept-encoding', etag: tags[0] } })
  t.equal((await site.get('/main.js', { 'accept-encoding': 'gzip', 'if-none-match': tags[0] as string })).status, 200)
  const part = await site.get('/main.js', {
    'accept-encoding': 'br',
    range: 'bytes=0-4',
    'if-range': tags[0] as string,
  })
  t.match(part, { status: 206, headers: { 'content-encoding': 'br', 'content-range': `bytes 0-4/${br.bytes.length}` } })
})

t.test('documents are compressed with the widget in them', async (t) => {
  const site = await published(t)
  const { bytes, headers } = await bytesOf(t, site, '/', 'gzip, deflate, br')
  t.match(headers, { 'content-encoding': 'br', vary: 'accept-encoding', 'cache-control': 'no-cache' })
  t.match(brotliDecompressSync(bytes).toString(), '/__service/auth-widget.js')
  t.match(brotliDecompressSync(bytes).toString(), 'pong pong')
})

t.test('a former address leads to the new one for ninety days, and is never kept', async (t) => {
  const { platform, program, game, get } = await published(t)
  const old = platform.gameHost(game.slug)
  t.equal((await get('/main.js')).status, 200)
  t.equal((await program.patch(`/api/games/${game.id}`, { slug: 'pong-two' })).status, 200)
  const moved = await get('/main.js?a=1', {}, old)
  const location = `http://${platform.gameHost('pong-two')}/main.js?a=1`
  t.match(moved, { status: 302, headers: { location, 'cache-control': 'no-store' } })
  t.equal((await get('/main.js', {}, platform.gameHost('pong-two'))).text, SCRIPT)
  t.equal((await get('/auth/service/session', {}, old)).status, 404)
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await get('/main.js', {}, old)).status, 404, 'nobody learns where a private game went')
})

t.test('the next game at an address has browsers clear what the last one left there, once', async (t) => {
  const { platform, program, game, get } = await published(t)
  const html = { accept: 'text/html' }
  t.equal((await get('/', html)).headers['clear-site-data'], undefined)
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  platform.clock.advance(91 * 24 * 3600_000)
  const later = await platform.program(await platform.signUp())
  const next = await later.post('/api/games', { title: 'Pong', description: 'Another.' })
  t.equal(next.body.slug, game.slug, 'the slug has rested')
  await deploy(platform, later, next.body.id, { 'index.html': INDEX, 'sw.js': 'self' })
  const first = await get('/', html)
  t.match(first, { status: 200, headers: { 'clear-site-data': '"cache", "storage"' } })
  t.match((await get('/sw.js', { 'service-worker': 'script', cookie: 'other=1' })).headers, {
    'clear-site-data': /storage/,
  })
  const cookie = String(first.headers['set-cookie']).split(';')[0] as string
  t.equal(cookie, `gameyard_site_8080=${next.body.id}`)
  t.equal((await get('/', { ...html, cookie })).headers['clear-site-data'], undefined, 'once')
  t.equal((await get('/main.js')).headers['clear-site-data'], undefined)
})

t.test('a deploy that was live is shown under a name of its own', async (t) => {
  const { platform, program, game, deployId, get } = await published(t)
  await deploy(platform, program, game.id, { 'index.html': '<html><head></head>second</html>' })
  t.match((await get('/')).text, 'second')
  const { body } = await program.get(`/api/deploy/${deployId}`)
  const preview = new URL(body.previewUrl).host
  const page = await get('/', {}, preview)
  t.match(page.text, 'pong pong')
  t.match(page.headers, { 'x-robots-tag': 'noindex', 'cache-control': 'private, no-cache' })
  t.equal((await get('/main.js', {}, preview)).text, SCRIPT)
  t.equal((await get('/', {}, preview.replace(/--.{3}/, '--000'))).status, 404)
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await get('/', {}, preview)).status, 404)
})

t.test('a preview of a private game opens to its maker, who comes from the portal, and to nobody else', async (t) => {
  const { platform, owner, program, game, deployId, get } = await published(t)
  const second = await deploy(platform, program, game.id, { 'index.html': 'second' })
  const link = `/games/${game.slug}/deploys/${deployId}/preview`
  const { body } = await program.get(`/api/deploy/${deployId}`)
  const preview = new URL(body.previewUrl).host
  t.match(await owner.get(link), { status: 303, headers: { location: `${body.previewUrl}/` } }, 'a public one is open')

  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  const friend = await platform.signUp()
  t.equal((await friend.get(link)).status, 404)
  t.equal((await platform.stranger.get(link)).status, 303, 'who is not signed in is sent to sign in')
  const answer = await owner.get(link)
  t.match(answer, { status: 303, headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } })
  const pass = new URL(String(answer.headers.location))
  t.equal(pass.host, preview)
  const open = (path: string, host = preview) => platform.stranger.get(path, { host })

  const elsewhere = [
    game.slug,
    new URL((await program.get(`/api/deploy/${second}`)).body.previewUrl).host.split('.')[0],
  ]
  for (const name of elsewhere) {
    const host = preview.replace(/^[^.]+/, String(name))
    t.equal((await open(pass.pathname + pass.search, host)).status, 404, `the pass is none at ${name}`)
  }
  t.equal((await open(`${pass.pathname}?pass=${pass.search.slice(6, -4)}xxxx`)).status, 404, 'nor changed')
  t.equal((await open(pass.pathname)).status, 404)
  const entered = await open(pass.pathname + pass.search)
  t.match(entered, { status: 303, headers: { location: /^\/$/, 'set-cookie': /HttpOnly; SameSite=Lax/ } })
  const cookie = String(entered.headers['set-cookie']).split(';')[0] as string
  t.match((await get('/', { cookie }, preview)).text, 'pong pong')
  t.equal((await get('/main.js', { cookie }, preview)).text, SCRIPT)
  t.equal((await get('/', { cookie })).status, 404, 'the cookie is none of the game itself')
  t.equal((await get('/', { cookie: `${cookie}; ${cookie}` }, preview)).status, 404, 'two are none')
  t.equal(
    (await new Client(platform.app).get('/auth/service/session', { host: preview })).status,
    404,
    'nor is its sign-in anybody else’s business',
  )
  t.match((await get('/auth/service/session', { cookie }, preview)).body, { signedIn: false })

  await platform.app.identity.administration.signOutEverywhere(owner.id)
  t.equal((await get('/', { cookie }, preview)).status, 404, 'signed out everywhere is signed out here')
  platform.clock.advance(61_000)
  t.equal((await open(pass.pathname + pass.search)).status, 404, 'a pass holds for a minute')
})

t.test('opening a game is a play, fetching its files is none', async (t) => {
  const { platform, owner, game, get } = await published(t)
  const html = { accept: 'text/html,application/xhtml+xml', 'user-agent': 'A browser' }
  await get('/', html)
  await get('/level/3', { ...html, 'sec-fetch-dest': 'iframe' })
  await get('/', { ...html, 'user-agent': 'Another' })
  await get('/', { ...html, 'sec-purpose': 'prefetch' })
  await get('/', { ...html, 'sec-fetch-dest': 'empty' })
  await get('/', { accept: '*/*' })
  await get('/main.js', html)
  const program = await platform.program(owner)
  // The last request is counted before or with the earlier ones, or not at all.
  const totals = await until(async () => {
    await platform.app.games.count.flush()
    const { body } = await program.get(`/api/games/${game.id}/analytics`)
    return body.totals.plays >= 3 && body.totals
  })
  t.match(totals, { plays: 3, uniquePlayers: 2 })
})

t.test('a reserved address that does not exist is 404 whatever the method, others say which they take', async (t) => {
  const { platform, game } = await published(t)
  const host = platform.gameHost(game.slug)
  for (const path of ['/__service/nothing.js', '/auth/service/x', '/mp/x/y', '/__service/', '/%5f_service/x']) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const { status, body } = await platform.stranger.request(method, path, undefined, { host })
      t.equal(status, 404, `${method} ${path}`)
      t.match(body, { error: { code: 'not_found' } })
    }
  }
  for (const [path, allow] of [
    ['/main.js', 'GET, HEAD'],
    ['/__service/auth-widget.js', 'GET, HEAD'],
  ]) {
    const refused = await platform.stranger.post(path as string, undefined, { host })
    t.match(refused, { status: 405, headers: { allow } }, String(path))
  }
})

t.test('the assets of the platform are asked for at the game’s own address', async (t) => {
  const { get } = await published(t)
  t.match(await get('/__service/assets/crate.glb'), {
    status: 404,
    body: { error: { code: 'not_found' } },
    headers: { 'access-control-allow-origin': '*', 'cache-control': 'no-store' },
  })
})

t.test('copies of a storage far away', async (t) => {
  const blobs = new Map<string, Buffer>()
  const reads: string[] = []
  let broken = false
  const source: Blobs = {
    file: async () => null,
    open: async ({ sha256 }, range) => {
      reads.push(sha256.slice(0, 4) + (range ? ` ${range.start}-${range.end}` : ''))
      const bytes = blobs.get(sha256) as Buffer
      const asked = range ? bytes.subarray(range.start, range.end + 1) : bytes
      return Readable.from(
        (async function* () {
          for (let at = 0; at < asked.length; at += 65_536) {
            await new Promise((done) => setImmediate(done))
            if (broken && at > 0) throw new Error('cut off')
            yield asked.subarray(at, at + 65_536)
          }
        })(),
        { objectMode: false },
      )
    },
  }
  const blob = (size: number) => {
    const bytes = randomBytes(size)
    const key = { sha256: sha256(bytes), size }
    blobs.set(key.sha256, bytes)
    return { ...key, bytes }
  }
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-copies-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const open = () => DiskCache.open({ folder, maxBytes: 3_000_000, source, log: createLog('silent') })
  const cache = await open()
  const settled = () => until(() => !readdirSync(folder).some((name) => /^p\d+-/.test(name)))

  const first = blob(900_000)
  const range = { start: 700_000, end: 700_099 }
  const together = await Promise.all([cache.open(first), cache.open(first), cache.open(first, range)])
  const [whole, again, part] = await Promise.all(together.map((stream) => buffer(stream)))
  t.ok(whole?.equals(first.bytes) && again?.equals(first.bytes), 'whole, while it is being copied')
  t.ok(part?.equals(first.bytes.subarray(700_000, 700_100)), 'and in part')
  t.equal(reads.length, 1, 'and fetched once')
  const file = await until(() => cache.file(first))
  t.ok(file, 'it is a file of this machine now')
  await file.close()
  t.ok((await buffer(await cache.open(first, range))).equals(first.bytes.subarray(700_000, 700_100)))
  t.equal(reads.length, 1)

  const others = [blob(900_000), blob(900_000), blob(900_000)]
  for (const other of others) t.ok((await buffer(await cache.open(other))).equals(other.bytes))
  await settled()
  t.ok(cache.bytes <= 3_000_000, 'the copies are bounded')
  t.ok(await until(() => !existsSync(join(folder, first.sha256))), 'the longest unused went')

  const huge = blob(1_600_000)
  t.ok((await buffer(await cache.open(huge))).equals(huge.bytes))
  t.notOk(existsSync(join(folder, huge.sha256)), 'one that would push the others out is not copied')

  const left = blob(900_000)
  const [unread, read] = [await cache.open(left), await cache.open(left)]
  unread.destroy()
  t.ok((await buffer(read)).equals(left.bytes), 'a reader that leaves at once disturbs nobody')
  await settled()
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const copy = await cache.open(left)
  copy.once('close', resolve).destroy()
  await closed
  const descriptors = () => readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`))
  if (existsSync('/proc/self/fd')) {
    await until(() => !descriptors().some((path) => path.startsWith(folder)))
    t.pass('and keeps no file open')
  }

  broken = true
  const cut = blob(500_000)
  await t.rejects(buffer(await cache.open(cut)), 'a copy that breaks off is an error')
  broken = false
  t.ok((await buffer(await cache.open(cut))).equals(cut.bytes), 'and made anew the next time')
  await settled()

  const lying = blob(400_000)
  blobs.set(lying.sha256, randomBytes(400_000))
  await buffer(await cache.open(lying)).catch(() => {})
  await settled()
  t.notOk(existsSync(join(folder, lying.sha256)), 'other bytes than the digest says are not kept')

  writeFileSync(join(folder, 'incoming-old'), 'x')
  const restarted = await open()
  t.equal(restarted.bytes, cache.bytes, 'copies outlive the process')
  t.notOk(existsSync(join(folder, 'incoming-old')))
})
