// Files that their makers compressed (Unity, Godot), for clients that accept the coding and for those that do not, such as
// browsers on plain HTTP. Over real sockets.
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { amount } from '../../kit/extent.ts'
import { type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { processorLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { Meter } from '../../system/loop/meter.ts'
import { deploy, sha256 } from './kit.ts'

const INDEX = `<!doctype html><html><head><title>Pong</title></head><body>${'pong '.repeat(400)}</body></html>`
const MODULE = Buffer.from('\0asm\x01\0\0\0'.repeat(100))
/** More than is kept in memory. */
const LARGE = randomBytes(400_000)
const MB = 1024 ** 2

const brotli = (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
}

async function published(t: Test, files: Record<string, string | Buffer>, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, { listen: true, ...options })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const program = await platform.program(owner)
  await deploy(platform, program, game.id, { 'index.html': INDEX, ...files })
  const { port } = platform.app.server.address() as { port: number }
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const host = platform.gameHost(game.slug)
      const outgoing = request({ host: '127.0.0.1', port, path, method, headers: { host, ...headers } })
      outgoing.on('error', reject)
      outgoing.on('response', async (incoming) => {
        const chunks = await incoming.toArray().catch(reject)
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes: Buffer.concat(chunks ?? []) })
      })
      outgoing.end()
    })
  const copies = () => {
    const folder = join(platform.app.config.dataDir, 'cache', 'games')
    return existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f]{64}$/.test(name)) : []
  }
  return { platform, owner, game, program, ask, copies }
}

/** What clients accept, and whether that includes each coding. */
const CLIENTS: [accepts: string | null, br: boolean, gzip: boolean][] = [
  ['gzip, deflate, br, zstd', true, true],
  ['gzip, deflate', false, true],
  ['br', true, false],
  ['identity', false, false],
  ['br;q=0, gzip;q=0, *', false, false],
  ['br;q=0.1, identity;q=0.5', false, false],
  ['*', true, true],
  ['', false, false],
  [null, false, false],
]

t.test('a coding is sent to clients that accept it, and the content to all others', async (t) => {
  const files = {
    'Build/small.wasm.br': brotli(MODULE),
    'Build/small.wasm.gz': gzipSync(MODULE),
    'Build/large.data.br': brotli(LARGE),
    'Build/large.data.gz': gzipSync(LARGE),
  }
  const { ask, copies } = await published(t, files)
  for (const [path, stored] of Object.entries(files)) {
    const coding = path.endsWith('.br') ? 'br' : 'gzip'
    const content = path.includes('small') ? MODULE : LARGE
    const contentType = path.includes('wasm') ? 'application/wasm' : 'application/octet-stream'
    const tags = new Set<string | undefined>()
    for (const round of [1, 2]) {
      for (const [accepts, br, gzip] of CLIENTS) {
        const encoded = coding === 'br' ? br : gzip
        const headers: Record<string, string> = accepts === null ? {} : { 'accept-encoding': accepts }
        const body = encoded ? stored : content
        const all = {
          'content-type': contentType,
          'content-encoding': encoded ? coding : undefined,
          'content-length': String(body.length),
          etag: `"${sha256(body)}"`,
          vary: 'accept-encoding',
          'accept-ranges': 'bytes',
        }
        const name = `${path} for ${accepts}, ${round}`
        const answer = await ask(`/${path}`, headers)
        t.match(answer, { status: 200, headers: all }, name)
        t.ok(answer.bytes.equals(body), `${name}: the bytes`)
        tags.add(answer.headers.etag)
      }
    }
    t.equal(tags.size, 2, 'each form has its own entity tag')
    const etag = `"${sha256(content)}"`
    t.match(await ask(`/${path}`, {}, 'HEAD'), {
      status: 200,
      headers: { etag, 'content-length': /./ },
      bytes: Buffer.alloc(0),
    })
    t.match(await ask(`/${path}`, { 'if-none-match': etag }), {
      status: 304,
      headers: { vary: 'accept-encoding', etag },
    })
    t.equal((await ask(`/${path}`, { 'if-none-match': etag, 'accept-encoding': 'br, gzip' })).status, 200)
    const part = await ask(`/${path}`, { range: 'bytes=500-599', 'if-range': etag })
    t.match(part, { status: 206, headers: { 'content-range': `bytes 500-599/${content.length}` } })
    t.ok(part.bytes.equals(content.subarray(500, 600)), 'a part of the content')
  }
  t.ok(await until(() => copies().length === 2), 'decoded once for each content')
})

t.test('the first readers of a large file share its decoding, in parts too', async (t) => {
  const { ask, copies } = await published(t, { 'a.data.gz': gzipSync(LARGE, { level: 1 }) })
  const asked = [
    ...Array.from({ length: 4 }, () => ask('/a.data.gz')),
    ask('/a.data.gz', { range: 'bytes=399900-' }),
    ask('/a.data.gz', { range: 'bytes=0-9' }),
  ]
  const [first, , , , end, start] = await Promise.all(asked)
  t.ok(first?.bytes.equals(LARGE))
  t.ok(end?.bytes.equals(LARGE.subarray(399_900)))
  t.ok(start?.bytes.equals(LARGE.subarray(0, 10)))
  t.ok(await until(() => copies().includes(sha256(LARGE))))
})

t.test(
  'a file that is not what its name says, or has too much content, is refused to those who need it decoded',
  async (t) => {
    const bomb = gzipSync(Buffer.alloc(3 * MB))
    const files = {
      'bomb.json.gz': bomb,
      'bomb.json.br': brotli(Buffer.alloc(3 * MB)),
      'lie.wasm.br': Buffer.from('This is not Brotli.'),
      'cut.wasm.gz': gzipSync(LARGE).subarray(0, 1000),
    }
    const { ask, copies } = await published(t, files, {
      config: { plugins: { 'game-edge': { diskCacheBytes: 4 * MB } } },
    })
    for (const [path, stored] of Object.entries(files)) {
      const accepted = await ask(`/${path}`, { 'accept-encoding': 'gzip, br' })
      t.ok(accepted.status === 200 && accepted.bytes.equals(stored), `${path} as it is`)
      for (const method of ['GET', 'HEAD', 'GET']) {
        const refused = await ask(`/${path}`, { 'accept-encoding': 'deflate' }, method)
        t.match(refused, { status: 406, headers: { 'cache-control': 'no-store', vary: 'accept-encoding' } }, path)
        if (method === 'GET') t.match(refused.bytes.toString(), /"coding_not_accepted"/)
      }
    }
    t.same(copies(), [], 'and nothing of them is on the disk')
  },
)

t.test('decoding holds the event loop only in small slices, and the disk keeps what it may', async (t) => {
  const bytes = amount(24, 400) * MB
  const bombs = Object.fromEntries(
    [1, 2, 3, 4].map((n) => [`b${n}.data.gz`, gzipSync(Buffer.alloc(bytes, n), { level: 1 })]),
  )
  const { platform, ask, copies } = await published(t, bombs, {
    config: { plugins: { 'game-edge': { diskCacheBytes: 2.5 * bytes } } },
  })
  // The code is compiled by the first requests.
  for (const accepts of ['gzip', 'identity']) await ask('/b1.data.gz', { 'accept-encoding': accepts }, 'HEAD')
  const meter = new Meter()
  meter.start()
  await Promise.all(['b2', 'b3', 'b4'].map((name) => ask(`/${name}.data.gz`, {}, 'HEAD')))
  const measured = await meter.stop()
  t.ok(measured.ms < processorLimit(50), `held for ${measured.ms} ms at most, ${measured.allMs} ms in all`)
  t.ok(measured.mb < 100, `${measured.mb} MB more memory`)
  t.same(copies(), [], 'a HEAD keeps nothing')
  for (const path of Object.keys(bombs)) t.equal((await ask(`/${path}`, { range: 'bytes=-1' })).status, 206)
  t.ok(await until(() => copies().length === 2), 'the longest unused went')
  t.equal((await platform.stranger.get('/healthz')).status, 200)
})

t.test('an archive that its maker announced as one stays one, in later builds too', async (t) => {
  const { platform, owner, game, program, ask } = await published(t, {})
  const level = gzipSync('{"level":1}')
  const publish = async (files: { path: string; body: Buffer; contentType?: string }[]) => {
    const announced = files.map(({ path, body, contentType }) => ({
      path,
      size: body.length,
      sha256: sha256(body),
      ...(contentType ? { contentType } : {}),
    }))
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: announced })
    for (const { path, uploadUrl, method, headers } of body.uploads) {
      const { pathname, search } = new URL(uploadUrl)
      const payload = files.find((file) => file.path === path)?.body as Buffer
      await platform.app.inject({
        method,
        url: pathname + search,
        headers: { host: new URL(platform.portal).host, ...headers },
        payload,
      })
    }
    t.equal((await program.post(`/api/deploy/${body.deployId}/finalize`)).status, 200)
  }
  await publish([
    { path: 'index.html', body: Buffer.from(INDEX) },
    { path: 'a.json.gz', body: level, contentType: 'application/gzip' },
    { path: 'b.json.gz', body: level, contentType: 'application/x-gzip; a=b' },
    { path: 'c.json.gz', body: level },
  ])
  const check = async (when: string) => {
    for (const accepts of ['gzip, br', 'identity']) {
      for (const [path, type] of [
        ['/a.json.gz', 'application/gzip'],
        ['/b.json.gz', 'application/x-gzip; a=b'],
      ] as const) {
        const archive = await ask(path, { 'accept-encoding': accepts })
        t.match(archive.headers, { 'content-type': type, 'content-encoding': undefined }, `${path} ${when}`)
        t.ok(archive.bytes.equals(level))
      }
      const other = await ask('/c.json.gz', { 'accept-encoding': accepts })
      t.match(other.headers['content-type'], /^application\/json/, `the other is what it contains, ${when}`)
      t.equal(other.headers['content-encoding'], accepts === 'identity' ? undefined : 'gzip')
    }
  }
  await check('as announced')
  await platform.app.deploys.publish(owner.id, {
    gameId: game.id,
    files: new Map([['new.txt', Buffer.from('x')]]),
    whole: false,
    remove: [],
  })
  await check('after an assistant changed another file')
  const path = `/api/games/${game.id}/draft/files/other.txt`
  t.match(await program.request('PUT', path, 'y', { headers: { 'content-type': 'text/plain' } }), { status: /^20/ })
  t.match(await program.post(`/api/games/${game.id}/draft/publish`, {}), { status: /^20/ })
  await check('after the editor changed another file')
})

t.test('a page with the sign-in button has a gzip form too', async (t) => {
  const { ask } = await published(t, {})
  const plain = await ask('/')
  t.match(plain.bytes.toString(), '/__service/auth-widget.js')
  const gzip = await ask('/', { 'accept-encoding': 'gzip, deflate' })
  t.match(gzip.headers, { 'content-encoding': 'gzip', vary: 'accept-encoding' })
  t.ok(gunzipSync(gzip.bytes).equals(plain.bytes))
  const br = await ask('/', { 'accept-encoding': 'gzip, br' })
  t.ok(brotliDecompressSync(br.bytes).equals(plain.bytes))
  t.equal(new Set([plain, gzip, br].map(({ headers }) => headers.etag)).size, 3)
})
