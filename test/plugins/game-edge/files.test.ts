import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { injectTags, WIDGET_TAG } from '../../../plugins/game-edge/files/inject-tags.ts'
import { type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { deploy, sha256 } from './kit.ts'

const INDEX = '<!doctype html><html><head><title>Pong</title></head><body>Pong</body></html>'
const SCRIPT = 'console.log("pong")'
const BIG = Buffer.alloc(700_000, 'abcdefghij')

/** Creates a game with a build, and returns a function that sends requests to its origin. */
async function published(t: Test, fields: Record<string, unknown> = {}, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp()
  const game = await platform.game(owner, fields)
  const program = await platform.program(owner)
  const files = {
    'index.html': INDEX,
    'main.js': SCRIPT,
    'help/index.html': '<p>Help, as a fragment</p>',
    'app.3f2a9c1bd4e5f607.css': 'body{}',
    'big.bin': BIG,
    'game.wasm.gz': gzipSync('wasm'),
    'levels/Über uns.json': '{}',
  }
  const deployId = await deploy(platform, program, game.id, files)
  const host = platform.gameHost(game.slug)
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    platform.stranger.request(method, path, undefined, { host, headers })
  return { platform, owner, program, game, host, get, deployId, files }
}

t.test('files are served as they were uploaded', async (t) => {
  const { get } = await published(t)
  const script = await get('/main.js')
  t.equal(script.status, 200)
  t.equal(script.text, SCRIPT)
  t.match(script.headers, {
    'content-type': /^text\/javascript/,
    'content-length': String(SCRIPT.length),
    etag: `"${sha256(SCRIPT)}"`,
    'cache-control': 'public, max-age=0, must-revalidate',
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
  })
  t.equal((await get('/main.js?v=2')).text, SCRIPT, 'a query does not matter')
  t.equal((await get('/app.3f2a9c1bd4e5f607.css')).headers['cache-control'], 'public, max-age=31536000, immutable')
  t.match(await get('/levels/%C3%9Cber%20uns.json'), { status: 200, text: '{}' })
  t.notOk(script.headers['set-cookie'], 'and no cookie is set')

  const head = await get('/main.js', {}, 'HEAD')
  t.match(head, { status: 200, text: '', headers: { 'content-length': String(SCRIPT.length) } })
  t.match(await get('/big.bin', {}, 'HEAD'), { status: 200, text: '', headers: { 'content-length': '700000' } })
  const big = await get('/big.bin')
  t.equal(sha256(big.text), sha256(BIG), 'large ones are streamed')
})

t.test('a path that is no file is its folder’s page, else the start page', async (t) => {
  const { get } = await published(t)
  t.match(await get('/help/'), { status: 200, text: '<p>Help, as a fragment</p>' })
  t.match(await get('/help?a=1'), {
    status: 302,
    headers: { location: /^\/help\/\?a=1$/, 'cache-control': 'no-cache' },
  })
  for (const path of ['/', '/level/3', '/level/', '/missing.js', '/constructor', '/__proto__']) {
    const page = await get(path)
    t.match(page, { status: 200, headers: { 'content-type': /^text\/html/, 'cache-control': 'no-cache' } }, path)
    t.match(page.text, /<title>Pong/)
  }
})

t.test('slashes that follow each other are one, and lead to no other host', async (t) => {
  const { get } = await published(t)
  for (const path of ['//main.js', '///main.js', '//main.js?a=//b']) t.equal((await get(path)).text, SCRIPT, path)
  t.equal((await get('/levels//%C3%9Cber%20uns.json')).text, '{}')
  t.match(await get('//help'), { status: 302, headers: { location: /^\/help\/$/ } })
  t.match(await get('//help//'), { status: 200, text: '<p>Help, as a fragment</p>' })
  t.equal((await get('//__service/absent.js')).status, 404, 'reserved all the same')
  t.equal((await get('//auth//service/session')).status, 404)
})

t.test('entity tags save bytes', async (t) => {
  const { get } = await published(t)
  for (const path of ['/main.js', '/big.bin', '/']) {
    const { headers } = await get(path)
    const again = await get(path, { 'if-none-match': headers.etag as string })
    t.match(again, { status: 304, text: '', headers: { etag: headers.etag, 'cache-control': /./ } }, path)
    t.notOk(again.headers['content-type'])
    t.equal((await get(path, { 'if-none-match': '"other"' })).status, 200)
  }
})

t.test('ranges of small and large files', async (t) => {
  const { get } = await published(t)
  for (const [path, whole] of [['/main.js', SCRIPT] as const, ['/big.bin', BIG.toString()] as const]) {
    const part = await get(path, { range: 'bytes=3-8' })
    t.match(part, { status: 206, text: whole.slice(3, 9), headers: { 'content-range': `bytes 3-8/${whole.length}` } })
    t.match(await get(path, { range: 'bytes=-4' }), { status: 206, text: whole.slice(-4) })
    const beyond = await get(path, { range: 'bytes=9999999-' })
    t.match(beyond, { status: 416, headers: { 'content-range': `bytes */${whole.length}` } })
    t.equal((await get(path, { range: 'bytes=0-1,4-5' })).status, 200, 'several ranges: the whole')
    t.equal((await get(path, { range: 'bytes=0-1', 'if-range': '"old"' })).status, 200, 'another version: the whole')
    t.equal((await get(path, { range: 'bytes=0-1' }, 'HEAD')).status, 200, 'HEAD knows no ranges')
  }
})

t.test('precompressed uploads are served as what they hold', async (t) => {
  const { get, files } = await published(t)
  const wasm = await get('/game.wasm.gz', { 'accept-encoding': 'gzip' })
  t.match(wasm.headers, { 'content-type': 'application/wasm', 'content-encoding': 'gzip' })
  t.equal(wasm.headers.etag, `"${sha256(files['game.wasm.gz'])}"`)
})

t.test('documents get the sign-in widget, unless the game says no', async (t) => {
  const { get, program, game } = await published(t)
  const page = await get('/')
  t.match(page.text, '<script type="module" src="/__service/auth-widget.js"></script></head>')
  t.equal(page.headers.etag, `"${sha256(page.text)}"`)
  t.not(page.headers.etag, `"${sha256(INDEX)}"`)
  t.equal((await program.patch(`/api/games/${game.id}`, { settings: { authWidget: 'off' } })).status, 200)
  const plain = await get('/')
  t.equal(plain.text, INDEX)
  t.equal(plain.headers.etag, `"${sha256(INDEX)}"`)
})

t.test('the widget’s tag stands only where a document takes it', async (t) => {
  const inject = (html: string) => injectTags(Buffer.from(html), { last: WIDGET_TAG }).toString()
  const tag = '<script type="module" src="/__service/auth-widget.js"></script>'
  t.equal(inject('<HTML><HEAD></HEAD ><body></body></HTML>'), `<HTML><HEAD>${tag}</HEAD ><body></body></HTML>`)
  t.equal(inject('<!doctype html><p>a</p></body>'), `<!doctype html><p>a</p>${tag}</body>`)
  t.equal(inject('<!doctype html><p>ü'), `<!doctype html><p>ü${tag}`)
  t.equal(inject('<p>a fragment</p>'), '<p>a fragment</p>')
  const tricky = '<html><head><!-- </head> --><script>"</head>"</script><title></head></title></head>'
  t.equal(inject(tricky), tricky.replace(/<\/head>$/, `${tag}</head>`))
  t.equal(inject('<html><script>"</head>'), '<html><script>"</head>', 'a script without end swallows the rest')
  const hostile = `<html>${'<!--<script>'.repeat(1_000_000)}`
  // More than linear time would be hours here.
  t.equal(inject(hostile), hostile, 'hostile input stays as it is')
})

t.test('a suspended game gets none of the platform’s scripts', async (t) => {
  const { platform, game, get } = await published(t)
  const scripts = ['auth-widget', 'mount', 'engine', 'multiplayer', 'saves', 'scores'].map(
    (name) => `/__service/${name}.js`,
  )
  for (const path of scripts) t.equal((await get(path)).status, 200, path)
  await platform.app.games.suspensions.suspend(game.id, 'No.')
  for (const path of scripts) t.equal((await get(path)).status, 451, path)
})

t.test('a part of a page that is not there is no page', async (t) => {
  const { get } = await published(t)
  const ask = (path: string, dest: string | null, method = 'GET') =>
    get(path, dest === null ? {} : { 'sec-fetch-dest': dest }, method)
  const parts = ['script', 'style', 'image', 'font', 'audio', 'video', 'track', 'manifest']
  for (const dest of [...parts, 'worker', 'sharedworker', 'serviceworker']) {
    for (const path of ['/Main.js', '/absent', '/assets/x.js.meta']) {
      t.match(await ask(path, dest), {
        status: 404,
        text: /^This build has no file /,
        headers: { 'content-type': /^text\/plain/, 'cache-control': 'no-store', vary: 'sec-fetch-dest' },
      })
    }
    t.equal((await ask('/main.js', dest)).status, 200, 'what is there is served')
  }
  t.match(await ask('/absent.png', 'image', 'HEAD'), { status: 404, text: '' })
  t.match(await ask('/favicon.ico', 'image'), { status: 204, text: '' }, 'what browsers ask for unasked is no fault')
  for (const path of ['/model.glb.meta', '/level.JSON', '/a/v1.2'])
    t.equal((await ask(path, 'empty')).status, 404, path)
  for (const [path, dest] of [
    ['/level/2', 'document'],
    ['/level.json', 'document'],
    ['/level/2', 'iframe'],
    ['/level/2', 'empty'],
    ['/level/2.html', 'empty'],
    ['/a.b/level', 'empty'],
    ['/absent.png', null],
  ] as const) {
    t.match(await ask(path, dest), { status: 200, text: /<title>Pong/ }, `${path} for ${dest}`)
  }
})

const IMMUTABLE = 'public, max-age=31536000, immutable'
const REVALIDATE = 'public, max-age=0, must-revalidate'

t.test('a name that had two contents is never immutable again, after a rollback either', async (t) => {
  const { platform, owner, get, program, game } = await published(t)
  const caching = async (path: string) => (await get(path)).headers['cache-control']
  const build = (style: string) => ({ 'index.html': INDEX, 'app.3f2a9c1bd4e5f607.css': style, 'b.9f1c2e3d.js': 'b' })
  const first = await deploy(platform, program, game.id, build('body{}'))
  t.same([await caching('/app.3f2a9c1bd4e5f607.css'), await caching('/b.9f1c2e3d.js')], [IMMUTABLE, IMMUTABLE])
  await deploy(platform, program, game.id, { 'index.html': INDEX, 'b.9f1c2e3d.js': 'b' })
  await deploy(platform, program, game.id, build('body{color:red}'))
  t.same([await caching('/app.3f2a9c1bd4e5f607.css'), await caching('/b.9f1c2e3d.js')], [REVALIDATE, IMMUTABLE])
  await platform.app.deploys.rollback(owner.id, first)
  t.match(await get('/app.3f2a9c1bd4e5f607.css'), { text: 'body{}', headers: { 'cache-control': REVALIDATE } })
})

t.test('no isolation is frozen: a worker’s script is revalidated, and the tag tells the setting', async (t) => {
  const { platform, program, game, get } = await published(t)
  await deploy(platform, program, game.id, { 'index.html': INDEX, 'app.3f2a9c1bd4e5f607.js': 'x', 'main.js': 'y' })
  const worker = { 'sec-fetch-dest': 'worker' }
  for (const path of ['/app.3f2a9c1bd4e5f607.js', '/main.js']) {
    const script = await get(path, { 'sec-fetch-dest': 'script' })
    const immutable = path !== '/main.js'
    t.equal(script.headers['cache-control'], immutable ? IMMUTABLE : REVALIDATE)
    t.equal(script.headers.vary, immutable ? 'sec-fetch-dest' : undefined)
    for (const dest of ['worker', 'sharedworker', 'worker']) {
      t.equal((await get(path, { 'sec-fetch-dest': dest })).headers['cache-control'], REVALIDATE, `${path} ${dest}`)
    }
    t.equal((await get(path)).headers['cache-control'], script.headers['cache-control'], 'and others keep theirs')
  }
  const before = (await get('/app.3f2a9c1bd4e5f607.js', worker)).headers.etag as string
  await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: true } })
  const isolated = { 'cross-origin-embedder-policy': 'require-corp' }
  for (const path of ['/app.3f2a9c1bd4e5f607.js', '/main.js', '/']) {
    const after = await get(path, { ...worker, 'if-none-match': before })
    t.match(after, { status: 200, headers: isolated }, `${path}: no 304 leaves the old headers`)
    const again = await get(path, { ...worker, 'if-none-match': after.headers.etag as string })
    t.match(again, { status: 304, headers: isolated })
  }
})

t.test('a new deploy replaces the old one at once, and only whole', async (t) => {
  const { platform, get, program, game } = await published(t)
  t.equal((await get('/main.js')).text, SCRIPT)
  await deploy(platform, program, game.id, { 'index.html': '<html>second</html>', 'main.js': 'second' })
  t.equal((await get('/main.js')).text, 'second')
  t.match((await get('/big.bin')).text, /second/, 'a file of the old build is gone')
  const { headers } = await get('/help/index.html')
  t.match(headers['content-type'], /html/)
  // An open page still asks for the parts of its own build.
  for (const method of ['GET', 'HEAD', 'GET']) {
    t.match(await get('/app.3f2a9c1bd4e5f607.css', {}, method), {
      status: 200,
      text: method === 'HEAD' ? '' : 'body{}',
      headers: { 'content-type': /css/, 'cache-control': IMMUTABLE, etag: `"${sha256('body{}')}"` },
    })
  }
  platform.clock.advance(23 * 3_600_000)
  await deploy(platform, program, game.id, { 'index.html': '<html>third</html>' })
  t.equal((await get('/app.3f2a9c1bd4e5f607.css')).text, 'body{}', 'through another deploy')
  platform.clock.advance(3_600_001)
  t.match((await get('/app.3f2a9c1bd4e5f607.css')).text, /third/, 'for 24 hours')
})

t.test('an isolated game says so on every file', async (t) => {
  const { get } = await published(t, { settings: { crossOriginIsolated: true } })
  for (const path of ['/', '/main.js', '/big.bin']) {
    const { headers } = await get(path)
    t.match(headers, {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': /./,
    })
  }
})

t.test('addresses without a game are friendly 404 pages', async (t) => {
  const { platform, owner } = await published(t)
  const empty = await platform.game(owner, { title: 'Tetris <b>' })
  for (const host of [platform.gameHost('nobody'), platform.gameHost(empty.slug), platform.gameHost('pong--abc')]) {
    const page = await platform.stranger.get('/', { host })
    t.match(page, { status: 404, headers: { 'content-type': /^text\/html/, 'cache-control': 'no-store' } }, host)
  }
  const page = await platform.stranger.get('/x.png', { host: platform.gameHost(empty.slug) })
  t.match(page.text, 'Tetris &#60;b&#62; is being set up')
})

t.test('reserved paths never fall through to files, however they are spelled', async (t) => {
  const { get } = await published(t)
  const paths = [
    '/auth/service/other',
    '/auth/service',
    '/__service/nothing.js',
    '/__service',
    '/mp/other',
    '/mp/',
    '/%6dp/x',
  ]
  for (const path of [...paths, '/auth%2Fservice/x', '/__service%2Fx', '/%5F_service/x', '/auth/service/']) {
    t.match(await get(path), { status: 404, body: { error: { code: 'not_found' } } }, path)
    t.equal((await get(path, { 'service-worker': 'script' })).status, 403, `${path} as a worker`)
  }
  for (const path of ['/__service/auth-widget.js', '/auth/service/session', '/mp', '/__service/multiplayer.js']) {
    t.equal((await get(path, { 'service-worker': 'script' })).status, 403, `${path} as a worker`)
  }
})

t.test('hostile paths end in 400 or the start page, never beyond the build', async (t) => {
  const { get } = await published(t)
  for (const path of ['/%', '/%zz', '/%c0%ae%c0%ae/etc/passwd', '/a%', '/%ff.js', '/a%00.js', '/main.js%00'])
    t.equal((await get(path)).status, 400, path)
  const strays = ['/..%2f..%2fetc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//etc/passwd', '/C:%5Cwindows']
  for (const path of [...strays, `/${'a'.repeat(3000)}`, '/main.js/', '/./main.js/../x', '/;/main.js']) {
    const { status, text } = await get(path)
    t.equal(status, 200, path)
    t.match(text, /<title>Pong/)
  }
  t.equal((await get('/main.js', {}, 'POST')).status, 405)
})

t.test('a private game is there for its owner alone', async (t) => {
  const { platform, owner, get, host, game } = await published(t, { visibility: 'private' })
  t.equal((await get('/')).status, 404)
  t.equal((await get('/main.js')).status, 404)
  t.equal((await get('/mp')).status, 404)
  const started = await owner.get('/auth/service/start', { host })
  const authorized = await owner.get(
    new URL(started.headers.location as string).pathname + new URL(started.headers.location as string).search,
  )
  const back = new URL(authorized.headers.location as string)
  await owner.get(back.pathname + back.search, { host })
  t.match(await owner.get('/main.js', { host }), { status: 200, headers: { 'cache-control': 'private, no-cache' } })

  const other = await platform.signUp()
  const begun = new URL((await other.get('/auth/service/start', { host })).headers.location as string)
  const code = new URL((await other.get(begun.pathname + begun.search)).headers.location as string)
  t.equal(
    (await other.get(code.pathname + code.search, { host })).status,
    404,
    `${game.slug} does not exist for others`,
  )
  t.equal((await other.get('/main.js', { host })).status, 404)
})

t.test('memory for hot files is bounded', async (t) => {
  const { get } = await published(t, {}, { config: { plugins: { 'game-edge': { cacheBytes: 2000 } } } })
  for (let round = 0; round < 3; round++) {
    t.equal((await get('/main.js')).text, SCRIPT)
    t.match((await get('/')).text, /Pong/)
    t.equal((await get('/app.3f2a9c1bd4e5f607.css')).text, 'body{}')
  }
})
