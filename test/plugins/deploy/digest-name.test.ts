import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { carriesDigest } from '../../../plugins/deploy/manifest/digest-name.ts'
import { inFull } from '../../kit/extent.ts'

const root = join(import.meta.dirname, '../../..')

t.test('the outputs of bundlers and engines carry a digest', async (t) => {
  for (const name of [
    'assets/index-BsX9_a1b.js',
    'assets/firefox-1bWoP6pv.svg',
    'assets/style.DcXj09Ch.css',
    'main.3f2a9c1bd4e5f607a8b9.js',
    'static/js/main.9f1c2e3d.chunk.js',
    'static/js/main.9f1c2e3d.chunk.js.map',
    '5d0b7f31e2a94c86d1fe.png',
    'chunk-TAV5CUKK.mjs',
    'chunk-SETTINGS.js',
    'main-2EFITU5U.js',
    'game.7d9f31ab.js',
    '_next/static/chunks/23-0bd6ee1b4d8bfa1c.js',
    '_app/immutable/chunks/DcXj09Ch.js',
    '_nuxt/B7XXxEF7.js',
    'Build/3f2a9c1bd4e5f6070a1b2c3d4e5f6071.data.br',
    'Build/3f2a9c1bd4e5f6070a1b2c3d4e5f6071.framework.js.gz',
    'index.3f2a9c1bd4e5f6070a1b2c3d4e5f6071.wasm',
    '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9.9f1c2e3d.png',
  ])
    t.ok(carriesDigest(name), name)
})

t.test('names that people and engines give carry none', async (t) => {
  for (const name of [
    'Tile_3x4.png',
    'bg_01-v2.png',
    '24-05-01.json',
    'level.24-05-01.json',
    'photo-20241105.jpg',
    'assets/main/native/0a/0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9.png',
    '0a1b2c3d4e5f40718293a4b5c6d7e8f9.png',
    'import/0f/0fcmR3XADNLgJ1ByKhqcC5Z.json',
    'DcXj09Ch.js',
    'hero-Player2D.png',
    'hero-Run_3x4b.png',
    'tile-x10y20z3.png',
    'tile-A1B2C3D4.png',
    'tile-a1b2c3d4.png',
    'menu-cafe2024.png',
    'menu-face2bed.png',
    'menu-GamePlay.png',
    'menu-SETTINGS.png',
    'dump_00c0ffee.bin',
    'Audient-iD4-0003.conf',
    'level-tutorial.json',
    'jquery-3.7.1.min.js',
    'three.module.min.js',
    'face2face.png',
    'sprite2048.png',
    'deadbeef',
    'a/3f2a9c1bd4e5f607',
  ])
    t.notOk(carriesDigest(name), name)
})

/** What carries a digest among them, as auditwheel and the packages' own bundlers write it. */
const TRULY = /\.libs\/|\.so\b|\.[mc]?js$|\.[mc]?ts$|\.map$|\.css$|\.svg$/

t.test('of thousands of real names none is taken for a digest', async (t) => {
  const folders = ['three', 'typescript', 'zod', 'undici', '@fontsource-variable', '@types'].map((name) =>
    join(root, 'node_modules', name),
  )
  const own = ['plugins', 'starters', 'core', 'docs'].map((name) => join(root, name))
  const names = [...folders, ...own].flatMap((cwd) => globSync('**/*.*', { cwd }))
  t.ok(names.length >= 3000, `${names.length} names`)
  t.same(names.filter(carriesDigest), [])
})

inFull(t)?.test('of all names of this system none is taken for a digest', async (t) => {
  const names = ['/usr/share', '/usr/lib', '/etc'].flatMap((cwd) => globSync('**/*.*', { cwd }))
  t.ok(names.length >= 3000, `${names.length} names`)
  t.same(
    names.filter((name) => carriesDigest(name) && !TRULY.test(name)),
    [],
  )
})

t.test('most digests are recognised', async (t) => {
  const digests = Array.from({ length: 2000 }, (_, index) => createHash('sha256').update(`${index}`).digest())
  const share = (name: (digest: Buffer) => string) =>
    digests.filter((digest) => carriesDigest(name(digest))).length / digests.length
  t.ok(share((digest) => `index-${digest.toString('base64url').slice(0, 8)}.js`) > 0.5, 'Vite, Rollup')
  t.ok(share((digest) => `main.${digest.toString('hex').slice(0, 8)}.js`) > 0.65, 'Parcel')
  t.ok(share((digest) => `page-${digest.toString('hex').slice(0, 16)}.js`) > 0.95, 'Next')
  t.ok(share((digest) => `${digest.toString('hex').slice(0, 20)}.png`) > 0.98, 'webpack')
  t.ok(share((digest) => `Build/${digest.toString('hex').slice(0, 32)}.data`) > 0.97, 'Unity')
})
