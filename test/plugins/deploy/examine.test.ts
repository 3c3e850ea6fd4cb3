// The shapes of engines' outputs, as small trees, and the starters.
import { Readable } from 'node:stream'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { BuildFile } from '../../../plugins/deploy/builds/build-file.ts'
import { examine } from '../../../plugins/deploy/builds/examine.ts'
import { STARTERS } from '../../../plugins/starters/catalog.ts'
import { filesOf } from '../../../plugins/starters/files.ts'
import { inFull } from '../../kit/extent.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { PLAIN } from './wasm.ts'

type Tree = Record<string, string | Buffer>

function examined(tree: Tree) {
  const files = Object.entries(tree).map(([path, content]) => ({ path, size: Buffer.byteLength(content) }))
  const open = async ({ path }: BuildFile, bytes: number) =>
    Readable.from([Buffer.from(tree[path] as string).subarray(0, bytes)])
  return examine(files, open)
}

const page = (head = '', body = '') => `<!doctype html><html><head>${head}</head><body>${body}</body></html>`

const uint32 = (...numbers: number[]) =>
  Buffer.concat(
    numbers.map((number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(number)
      return bytes
    }),
  )
const GODOT_PACK = Buffer.concat([Buffer.from('GDPC'), uint32(2, 4, 3, 1), Buffer.alloc(40)])
const UNITY_DATA = Buffer.concat([
  Buffer.from('UnityWebData1.0\0'),
  Buffer.from('data.unity3d\0'),
  Buffer.from('UnityFS\0\0\0\0\x085.x.x\x002022.3.5f1\0'),
  Buffer.alloc(100),
])
const UNITY_PAGE = page(
  '',
  `<canvas id="unity-canvas"></canvas><script>
  var buildUrl = "Build"; var loaderUrl = buildUrl + "/Web.loader.js";
  var config = { dataUrl: buildUrl + "/Web.data.br", codeUrl: buildUrl + "/Web.wasm.br", productVersion: "1.0" };
  script.onload = () => { createUnityInstance(canvas, config) }</script>`,
)

const ENGINES: [string, { name: string; version: string | null } | null, Tree][] = [
  [
    'Unity, brotli',
    { name: 'Unity', version: '2022.3.5f1' },
    {
      'index.html': UNITY_PAGE,
      'Build/Web.loader.js': 'function createUnityInstance(t,n,r){}',
      'Build/Web.data.br': brotliCompressSync(UNITY_DATA),
      'Build/Web.framework.js.br': brotliCompressSync('var unityFramework=1'),
      'Build/Web.wasm.br': brotliCompressSync(PLAIN),
    },
  ],
  [
    'Unity with a page of its own',
    { name: 'Unity', version: null },
    {
      'index.html': page('', '<script type="module" src="main.js"></script>'),
      'main.js': 'start()',
      'Build/g.loader.js': '',
      'Build/g.framework.js.unityweb': gzipSync('var f=1'),
    },
  ],
  [
    'Godot 4',
    { name: 'Godot', version: '4.3.1' },
    {
      'index.html': page(
        '<script src="index.js"></script>',
        '<script>const GODOT_CONFIG = {"executable":"index"};</script>',
      ),
      'index.js': 'const Engine = 1',
      'index.wasm': PLAIN,
      'index.pck': GODOT_PACK,
    },
  ],
  [
    'RPG Maker MZ',
    { name: 'RPG Maker MZ', version: '1.9.0' },
    { 'index.html': page(), 'js/rmmz_core.js': '//====\n// rmmz_core.js v1.9.0\n', 'js/rmmz_managers.js': '' },
  ],
  [
    'RPG Maker MV',
    { name: 'RPG Maker MV', version: '1.6.2' },
    { 'index.html': page(), 'js/rpg_core.js': '//====\n// rpg_core.js v1.6.2\n' },
  ],
  [
    'Construct 3',
    { name: 'Construct', version: '3' },
    {
      'index.html': page('<meta name="generator" content="Scirra Construct">'),
      'scripts/c3runtime.js': '',
      'data.json': '{}',
    },
  ],
  ['Construct 2', { name: 'Construct', version: '2' }, { 'index.html': page(), 'c2runtime.js': '' }],
  [
    'GameMaker, JavaScript',
    { name: 'GameMaker', version: null },
    { 'index.html': page('<script src="html5game/Duo.js"></script>'), 'html5game/Duo.js': 'GameMaker_Init' },
  ],
  [
    'GameMaker, WebAssembly',
    { name: 'GameMaker', version: null },
    { 'index.html': page(), 'runner.js': '', 'runner.wasm': PLAIN, 'runner.data': 'x', 'game.unx': 'x' },
  ],
  [
    'PlayCanvas',
    { name: 'PlayCanvas', version: '1.62.0' },
    {
      'index.html': page('<script src="playcanvas-stable.min.js"></script>'),
      'playcanvas-stable.min.js': '/**\n * @license\n * PlayCanvas Engine v1.62.0 revision 818511d2b\n */',
      '__game-scripts.js': '',
      '__start__.js': '',
    },
  ],
  [
    'Phaser in a bundle',
    { name: 'Phaser', version: '3.80.1' },
    { 'index.html': page(), 'assets/index-BsX9_a1b.js': 'var r={VERSION:"3.80.1",LOG_VERSION:"v3801"}' },
  ],
  [
    'Bevy',
    { name: 'Bevy', version: null },
    { 'index.html': page('<title>My Bevy game</title>'), 'game.js': 'wasm.__wbindgen_malloc', 'game_bg.wasm': PLAIN },
  ],
  [
    'wasm-bindgen',
    { name: 'wasm-bindgen', version: null },
    { 'index.html': page(), 'pkg/duo.js': 'imports.wbg.__wbindgen_throw = 1', 'pkg/duo_bg.wasm.gz': gzipSync(PLAIN) },
  ],
  [
    'Emscripten',
    { name: 'Emscripten', version: null },
    { 'index.html': page(), 'game.js': 'var Module=typeof Module!="undefined"?Module:{}', 'game.wasm': PLAIN },
  ],
  ['none', null, { 'index.html': page(), 'main.js': 'const module = 1' }],
]

t.test('engines are recognised by what is in a build', async (t) => {
  for (const [what, engine, tree] of ENGINES) {
    const { engine: found, notes } = await examined(tree)
    t.same(found, engine, what)
    t.same(
      notes
        .filter(({ level }) => level === 'warning')
        .map(({ code }) => code)
        .filter((code) => code !== 'unpacked_by_script'),
      [],
      `${what}: no false warning`,
    )
  }
})

t.test('starters have nothing to warn about', async (t) => {
  for (const starter of STARTERS) {
    const files = await filesOf(starter)
    const { engine, notes, sharedMemory } = await examined(
      Object.fromEntries(files.map(({ path, bytes }) => [path, Buffer.from(bytes)])),
    )
    const found = starter.name === 'phaser' ? { name: 'Phaser', version: /^\d+\.\d+\.\d+$/ } : null
    t.match({ engine, notes, sharedMemory }, { engine: found, notes: [], sharedMemory: null }, starter.name)
    t.equal(notes.length, 0, starter.name)
  }
})

const codesOf = async (tree: Tree) => (await examined(tree)).notes.map(({ code, path }) => `${code} ${path}`)

t.test('addresses that will break are named, and others are not', async (t) => {
  t.same(
    await codesOf({
      'index.html': page(
        `<base href="./"><link rel="canonical" href="http://localhost:3000/"><link rel="icon" href="/favicon.ico">
         <link rel=stylesheet href=style.css?v=1><script src="./js/Main.js"></script><script src="/repo/js/app.js"></script>
         <!-- <script src="old.js"></script> --><script src="gone.js"></script><script src="/__service/multiplayer.js"></script>
         <script src="/js/app.js"></script><script src="https://cdn.example.org/lib.js"></script>
         <img src="data:image/png;base64,AA"><a href="/nowhere">x</a><img src="http://127.0.0.1:8060/logo.png">`,
      ),
      'style.css': '',
      'js/main.js': `load('img/Player.png'); load("../img/enemy.png"); load('unknown.png'); load('/repo/img/enemy.png'); load(x + 'Boss.PNG')`,
      'js/app.js': 'fetch("/img/enemy.png")',
      'img/player.png': 'x',
      'img/enemy.png': 'x',
      'img/boss.png': 'x',
    }),
    [
      'case_differs index.html',
      'absolute_path index.html',
      'missing_file index.html',
      'makers_host index.html',
      'case_differs js/main.js',
      'absolute_path js/main.js',
      'case_differs js/main.js',
    ],
  )
  const { notes } = await examined({ 'index.html': page('<script src="Main.js"></script>'), 'main.js': '' })
  t.same(notes, [
    {
      level: 'warning',
      code: 'case_differs',
      path: 'index.html',
      message:
        'index.html asks for Main.js, but the file is main.js. Upper and lower case differ, which Windows and macOS overlook.',
    },
  ])
  const many = Array.from({ length: 50 }, (_, index) => `<script src="missing-${index}.js"></script>`).join('')
  t.equal((await examined({ 'index.html': page(many) })).notes.length, 8, 'at most eight of a kind')
})

t.test(
  'files that no browser takes, that nobody needs, and that are sent compressed are named once each',
  async (t) => {
    const { notes } = await examined({
      'index.html': page(),
      'Game.exe': 'MZ',
      'nw.dll': 'x',
      'hero.blend': 'x',
      '.DS_Store': 'x',
      '__MACOSX/index.html': 'x',
      'node_modules/a/index.js': 'x',
      'old/game.pck': GODOT_PACK,
      'a.js.gz': gzipSync('x'),
      'a.data.br': brotliCompressSync('x'),
      'a.wasm.unityweb': PLAIN,
      'notes.tar.gz': 'x',
    })
    t.same(
      notes.map(({ level, code, path }) => [level, code, path]),
      [
        ['info', 'encoded', 'a.js.gz'],
        ['warning', 'unpacked_by_script', 'a.wasm.unityweb'],
        ['warning', 'not_for_browsers', 'Game.exe'],
        ['warning', 'pack_alone', 'old/game.pck'],
        ['warning', 'unneeded_files', '.DS_Store'],
      ],
    )
    t.match(notes[0]?.message, /^a\.js\.gz and 1 more are sent .* unpack them/)
    t.match(notes[2]?.message, /^Game\.exe and 2 more are of no use in a browser\.$/)
  },
)

t.test('a name that very many files have is not judged, and costs no comparison with each of them', async (t) => {
  const tree = (files: number): Tree => ({
    'index.html': page(),
    'a.js': '"X.js";'.repeat(1000),
    ...Object.fromEntries(Array.from({ length: files }, (_, index) => [`d${index}/x.js`, ''])),
  })
  t.same(await codesOf(tree(50)), ['case_differs a.js'])
  t.same(await codesOf(tree(51)), [])
  const { endsWith } = String.prototype
  let compared = 0
  String.prototype.endsWith = function (this: string, ...given) {
    compared++
    return endsWith.apply(this, given)
  }
  t.teardown(() => {
    String.prototype.endsWith = endsWith
  })
  await examined(tree(2000))
  String.prototype.endsWith = endsWith
  t.ok(compared < 100_000, `${compared} comparisons for 1,000 texts and 2,000 files`)
})

inFull(t)?.test('hostile texts of a megabyte are examined in seconds', { timeout: timeLimit(300) }, async (t) => {
  const began = process.cpuUsage()
  for (const piece of ['<script ', '"a.', '<!--', "'", '<base ', '/**', 'src="', '<script src="', 'VERSION: "1.']) {
    const text = piece.repeat(1024 ** 2 / piece.length)
    await examined({ 'index.html': text, 'a.js': text })
  }
  t.ok(process.cpuUsage(began).user < 60e6)
})
