// The shapes of engines' outputs, as small trees, and the starters.
import { Readable } from 'node:stream'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { BuildFile } from '../../../plugins/deploy/builds/build-file.ts'
import { examine } from '../../../plugins/deploy/builds/examine.ts'
import { STARTERS } from '../../../plugins/starters/catalog.ts'
import { filesOf } from '../../../plugins/starters/files.ts'
import { inFull } from '../../kit/extent.ts'
import { processorLimit, timeLimit } from '../../kit/time-limit.ts'
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
  t.equal((await examined({ 'index.html': page(many) })).notes.length, 10, 'at most ten')
})

t.test('a project that nobody has built is told so', async (t) => {
  const tree = {
    'index.html': page('<link rel="stylesheet" href="look.scss"><script type="module" src="/src/main.ts"></script>'),
    'look.scss': '',
    'package.json': '{}',
    'src/main.ts': 'let a: number',
  }
  const { notes } = await examined(tree)
  t.match(notes, [
    { code: 'not_built', path: 'index.html', message: /^index\.html loads look\.scss, a source/ },
    { code: 'not_built', path: 'index.html', message: /^index\.html loads \/src\/main\.ts, .*npm run build.* dist\.$/ },
  ])
  const compiled = '<script type="text/babel" src="app.jsx"></script><video src="film.ts"></video>'
  t.same(await codesOf({ 'index.html': page(compiled), 'app.jsx': '', 'film.ts': '' }), [], 'a script may compile it')
})

t.test('what pages and style sheets load is looked up', async (t) => {
  const messagesOf = async (tree: Tree) => (await examined(tree)).notes.map(({ message }) => message)
  t.same(
    await messagesOf({
      'index.html': page(
        `<link rel="stylesheet" href="css/game.css"><link rel="shortcut icon" href="Icon.png">
         <style>body { background: url("sky.png") }</style>`,
        `<img src="hero.png" srcset="hero.png 1x, hero-large.png 2x"><video poster="film.jpg"><source src="film.mp4"></video>
         <div style="background: url(&quot;floor.png&quot;)"></div><iframe src="Credits.html"></iframe>`,
      ),
      'css/game.css': `@import "more.css"; .a { background: url(img/wall.png) } .b { background: url('../img/Wall.png') }
        @font-face { src: url(a.woff2), url(b.woff) }`,
      'credits.html': '<!doctype html><p><script src="gone.js"></script>',
      'hero.png': 'x',
      'icon.png': 'x',
      'img/wall.png': 'x',
    }),
    [
      'index.html asks for Icon.png, but the file is icon.png. Upper and lower case differ, which Windows and macOS overlook.',
      'index.html asks for sky.png, which is not in the build.',
      'index.html asks for hero-large.png, which is not in the build.',
      'index.html asks for film.jpg, which is not in the build.',
      'index.html asks for film.mp4, which is not in the build.',
      'index.html asks for floor.png, which is not in the build.',
      'index.html asks for Credits.html, but the file is credits.html. Upper and lower case differ, which Windows and macOS overlook.',
      'credits.html asks for gone.js, which is not in the build.',
      'css/game.css asks for more.css (css/more.css), which is not in the build.',
      'css/game.css asks for img/wall.png (css/img/wall.png), which is not in the build, but img/wall.png is.',
    ],
  )
  t.same(
    await messagesOf({
      'index.html': page('<base href="/app/"><script src="/js/main.js"></script><script src="js/other.js"></script>'),
      'app/js/main.js': '',
      'js/other.js': '',
    }),
    [
      'index.html asks for /js/main.js, but the file is app/js/main.js. <base> changes no address that begins with /, so leave the / out.',
      'index.html asks for js/other.js (app/js/other.js), which is not in the build, but js/other.js is.',
    ],
  )
})

const BUNDLED: Record<string, Tree> = {
  Vite: {
    'index.html': page(
      `<link rel="icon" type="image/svg+xml" href="./vite.svg" /><link rel="modulepreload" crossorigin href="./assets/vendor-B1x_9aQz.js">
       <script type="module" crossorigin src="./assets/index-Bx9_a1Zb.js"></script><link rel="stylesheet" crossorigin href="./assets/index-DiwrgTda.css">
       <script nomodule crossorigin id="vite-legacy-entry" data-src="./assets/index-legacy-C1.js">System.import(document.getElementById('vite-legacy-entry').getAttribute('data-src'))</script>`,
      '<div id="app"></div>',
    ),
    'vite.svg': 'x',
    'assets/index-Bx9_a1Zb.js': 'document.body.innerHTML = "<img src=" + a + "><img src=later.png>"',
    'assets/vendor-B1x_9aQz.js': '',
    'assets/index-DiwrgTda.css': `a{background:url(./tile-CX1.png)}b{mask:url("data:image/svg+xml,%3csvg fill='url(%23a)'%3e%3c/svg%3e")}
      c{fill:url(#grad);cursor:url(/assets/cursor-1.cur),auto}@import url(https://fonts.example.org/a.css);`,
    'assets/tile-CX1.png': 'x',
    'assets/cursor-1.cur': 'x',
  },
  'webpack, and Phaser’s template for it': {
    'index.html':
      '<!doctype html><html><head><title>Game</title><link rel="shortcut icon" href="favicon.png"><link rel=preconnect href=/nowhere><link rel=canonical href=/game><script defer="defer" src="bundle.min.js"></script></head><body><div id="game-container"></div></body></html>',
    'favicon.png': 'x',
    'bundle.min.js': 'this.load.setPath("assets");this.load.image("logo","logo.png")',
    'assets/logo.png': 'x',
  },
  Parcel: {
    'index.html':
      '<!doctype html><html><head><link rel="stylesheet" href="/index.2af4c1b9.css"><script src="/index.7ed3f1a2.js" defer></script></head><body><img src="/hero.c0ffee12.png?as=webp&amp;width=400"><svg><use href="/icons.aa11bb22.svg#gear"/><use xlink:href="#local"/></svg></body></html>',
    'index.2af4c1b9.css': '@font-face{src:url(/font.0a1b2c3d.woff2)format("woff2"),url(font.woff)format("woff")}',
    'font.0a1b2c3d.woff2': 'x',
    'index.7ed3f1a2.js': '',
    'hero.c0ffee12.png': 'x',
    'icons.aa11bb22.svg': 'x',
  },
  Godot: {
    'index.html':
      '<!DOCTYPE html><html><head><link id="-gd-engine-icon" rel="icon" type="image/png" href="index.icon.png" /><link rel="apple-touch-icon" href="index.apple-touch-icon.png"/><link rel="manifest" href="index.manifest.json"></head><body><canvas id="canvas"></canvas><noscript><img src="nothing.png"></noscript><div id="status"><img id="status-splash" class="show-image--true" src="index.png" alt=""></div><script src="index.js"></script><script>const GODOT_CONFIG = {"executable":"index","serviceWorker":"index.service.worker.js"};</script></body></html>',
    'index.js': 'const Engine = 1',
    'index.wasm': PLAIN,
    'index.pck': GODOT_PACK,
    'index.png': 'x',
    'index.icon.png': 'x',
    'index.apple-touch-icon.png': 'x',
    'index.manifest.json': '{}',
    'index.offline.html': '<!DOCTYPE html><html><body>Offline</body></html>',
    'index.service.worker.js': '',
  },
  Unity: {
    'index.html': `<!DOCTYPE html><html><head><link rel="shortcut icon" href="TemplateData/favicon.ico"><link rel="stylesheet" href="TemplateData/style.css"></head><body><canvas id="unity-canvas"></canvas><script>
      var loaderUrl = "Build/Web.loader.js"; script.src = loaderUrl; script.onload = () => createUnityInstance(canvas, config)</script></body></html>`,
    'TemplateData/favicon.ico': 'x',
    'TemplateData/style.css': "#logo { background: url('logo.png') no-repeat } #bar { background: url( bar.png ) }",
    'TemplateData/logo.png': 'x',
    'TemplateData/bar.png': 'x',
    'Build/Web.loader.js': '',
    'Build/Web.framework.js.br': brotliCompressSync('1'),
    'Build/Web.wasm.br': brotliCompressSync(PLAIN),
  },
  Construct: {
    'index.html': page(
      '<link rel="manifest" href="appmanifest.json"><link rel="apple-touch-icon" sizes="128x128" href="icons/icon-128.png"><link rel="stylesheet" href="style.css">',
      '<div id="fb-root"></div><script src="scripts/main.js" type="module"></script><script src="scripts/register-sw.js"></script>',
    ),
    'appmanifest.json': '{}',
    'icons/icon-128.png': 'x',
    'style.css': 'html { background: #000 }',
    'scripts/c3runtime.js': '',
    'scripts/main.js': 'navigator.serviceWorker.register("sw.js")',
    'scripts/register-sw.js': '',
    'sw.js': '',
  },
  'made at run time': {
    'index.html': page(
      `<script>document.write('<script src="' + name + '.js"></scr' + 'ipt>')</script><template><img src="later.png"></template>`,
      `<img src="{{ picture }}"><img :src="hero.png" @src="x.png" data-src="lazy.png"><img src="blob:x"><img src=""><img alt="src=none.png">
       <textarea><img src="text.png"></textarea><iframe src="level/2"></iframe><img src="/__service/qr.png"><a href="/auth/service/start">in</a>
       <object data="https://example.org/a.svg"></object><link rel="icon" href="/favicon.ico"><a href="nowhere.html">x</a>`,
    ),
    'parts/menu.html': '<img src="of-the-page-above.png">',
    'docs/node_modules/a/a.css': 'a { background: url(none.png) }',
  },
}

t.test('the outputs of bundlers and engines have no false warning', async (t) => {
  for (const [what, tree] of Object.entries(BUNDLED))
    t.same(
      (await examined(tree)).notes.filter(({ code }) => !/^(?:encoded|unneeded_files)$/.test(code)),
      [],
      what,
    )
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
  for (const piece of [
    '<script ',
    '"a.',
    '<!--',
    "'",
    '<base ',
    '/**',
    'src="',
    '<script src="',
    'VERSION: "1.',
    'url(',
    'url("',
    '/*',
    '<a ',
    '<img src=a ',
    '<style>',
    'url( ',
    ',',
  ]) {
    const text = piece.repeat(1024 ** 2 / piece.length)
    await examined({
      'index.html': `<!doctype html>${text}`,
      'a.js': text,
      'a.css': text,
      'b.css': text + ' '.repeat(1e5),
    })
  }
  t.ok(process.cpuUsage(began).user / 1000 < processorLimit(60_000))
})
