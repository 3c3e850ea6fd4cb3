import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { Compression } from '../../../plugins/deploy/compression/compression.ts'
import { Compressor } from '../../../plugins/deploy/compression/compressor.ts'
import { BlobVariant } from '../../../plugins/deploy/entities.ts'
import { faultyStorage } from '../../kit/fault-storage.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { type Build, deploy, filesOf, sha256 } from './build.ts'

const HOUR = 3_600_000
const never = new AbortController().signal
const code = (stamp: string) =>
  `const stamp = '${stamp}'\n${'function play(yard) { return yard.play() }\n'.repeat(5000)}`

async function withGame(t: Test, config = {}) {
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { app } = platform
  /** Deploys, and waits until all suitable files are compressed. */
  const publish = async (files: Build) => {
    const compressed = new Promise<void>((resolve) => app.events.on('deploy.compressed', () => resolve()))
    const { deployId } = await deploy(platform, program, game.id, files)
    await compressed
    return deployId
  }
  return { platform, app, player, game, program, publish }
}

const bytesOf = async ({ app }: Platform, digest: string) => buffer(await app.storage.get(app.deploys.blobKey(digest)))

t.test('a site is live before its files are compressed, and offers both codings afterwards', async (t) => {
  const { platform, app, game, program } = await withGame(t)
  const files: Build = {
    'index.html': '<p>small</p>',
    'main.js': code('one'),
    'engine.wasm': randomBytes(50_000),
    'art.png': Buffer.alloc(50_000),
    'game.js.br': Buffer.alloc(50_000),
    'page.svg': `<svg>${'<path d="M0 0h10v10z"/>'.repeat(500)}</svg>`,
  }
  const compressed = new Promise((resolve) => app.events.on('deploy.compressed', resolve))
  const { deployId } = await deploy(platform, program, game.id, files)
  const atOnce = await app.deploys.manifest(deployId)
  t.same(atOnce?.get('main.js')?.encodings, [], 'live as it is')
  t.same(await compressed, { gameId: game.id, deployId, slug: 'pong' })

  const manifest = await app.deploys.manifest(deployId)
  for (const path of ['main.js', 'page.svg']) {
    const encodings = manifest?.get(path)?.encodings ?? []
    t.same(
      encodings.map(({ coding }) => coding),
      ['br', 'gzip'],
      `${path} in both codings, the smaller first`,
    )
    for (const { coding, sha256: digest, size } of encodings) {
      const bytes = await bytesOf(platform, digest)
      t.equal(bytes.length, size)
      t.equal(sha256(bytes), digest)
      const plain = coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)
      t.equal(plain.toString(), files[path], `${path} comes out of ${coding}`)
    }
  }
  for (const path of ['index.html', 'engine.wasm', 'art.png', 'game.js.br'])
    t.same(manifest?.get(path)?.encodings, [], `${path} stays as it is`)
  const tried = await app.db.em().find(BlobVariant, { sha256: sha256(files['engine.wasm'] as Buffer) })
  t.same(
    tried.map(({ variantSha256 }) => variantSha256),
    [null, null],
    'what gets no smaller is not tried again',
  )
})

t.test('the next deploy with the same file has its codings at once', async (t) => {
  const { platform, app, game, program, publish } = await withGame(t)
  await publish({ 'index.html': 'one', 'main.js': code('same') })
  const { deployId } = await deploy(platform, program, game.id, { 'index.html': 'two', 'js/moved.js': code('same') })
  t.equal((await app.deploys.manifest(deployId))?.get('js/moved.js')?.encodings.length, 2)
})

t.test('compressed forms stay as long as what they are forms of, and go with it', async (t) => {
  const { platform, app, player, game, publish } = await withGame(t)
  const { clock } = platform
  const collector = new GarbageCollector(app)
  const keys = async () => (await Array.fromAsync(app.storage.list(''))).length
  const first = await publish({ 'index.html': 'one', 'main.js': code('one') })
  clock.advance(26 * HOUR)
  await collector.collect(never)
  t.equal(await keys(), 4, 'a live game keeps its two files and two forms')

  const second = await app.deploys.begin(player.id, { gameId: game.id, files: filesOf({ 'index.html': 'one' }) })
  await app.deploys.finalize(player.id, second.deployId)
  await app.deploys.remove(player.id, first)
  // A new deploy refers to the file before its collection, so its compressed forms stay too.
  const third = await app.deploys.begin(player.id, {
    gameId: game.id,
    files: filesOf({ 'index.html': 'one', 'main.js': code('one') }),
  })
  await collector.collect(never)
  t.equal(await keys(), 4)
  t.same(third.wanted, [], "still the owner's")
  await app.deploys.finalize(player.id, third.deployId)
  t.equal((await app.deploys.manifest(third.deployId))?.get('main.js')?.encodings.length, 2)

  clock.advance(1000)
  await app.deploys.rollback(player.id, second.deployId)
  await app.deploys.remove(player.id, third.deployId)
  clock.advance(26 * HOUR)
  await collector.collect(never)
  t.equal(await keys(), 1, 'nobody has the script any more')
  t.equal(await app.db.em().count(BlobVariant, { variantSha256: { $ne: null } }), 0)
  await collector.collect(never)
  t.equal(await app.db.em().count(BlobVariant), 0)
})

t.test('what was superseded meanwhile is not compressed', async (t) => {
  const { platform, app, game, program } = await withGame(t)
  // The platform's own compression would do the same beside this one.
  await app.jobs.stop(0)
  const scripts = Array.from({ length: 40 }, (_, index) => [`${index}.js`, code(`first ${index}`)])
  await deploy(platform, program, game.id, { 'index.html': 'first', ...Object.fromEntries(scripts) })
  platform.clock.advance(1)
  let superseded: Promise<unknown> | undefined
  const compression = compressionOf(t, app, () => {
    superseded ??= deploy(platform, program, game.id, { 'index.html': 'second', 'main.js': code('second') })
    return superseded
  })
  const compressed = async () => new Set((await app.db.em().find(BlobVariant, {})).map((row) => row.sha256))
  await compression.run(game.id, never)
  const early = await compressed()
  t.ok(early.size > 0 && early.size < 40, `it ends after ${early.size} of 40 files`)
  await compression.run(game.id, never)
  t.ok((await compressed()).has(sha256(code('second'))), 'and goes on with the new deploy')
})

t.test('a game that is deleted meanwhile is no failure', async (t) => {
  const { platform, app, game, program } = await withGame(t)
  await app.jobs.stop(0)
  await deploy(platform, program, game.id, { 'index.html': 'first', 'main.js': code('first') })
  let deleted: Promise<unknown> | undefined
  const compression = compressionOf(t, app, () => {
    deleted ??= app.games.deletion.removeForGood(game.ownerId, game.id, game.slug)
    return deleted
  })
  await compression.run(game.id, never)
  t.ok(deleted, 'it was')
  t.equal(await app.games.byId(game.id), null)
})

/** The compression of an app beside its own. @param before what happens before each read of a file */
function compressionOf(t: Test, app: FastifyInstance, before: () => Promise<unknown>): Compression {
  const { db, clock, events, games, workerPrograms, deploys } = app
  const storage: Storage = {
    ...faultyStorage(app.storage, { failOn: Number.POSITIVE_INFINITY }),
    async get(key) {
      await before()
      return app.storage.get(key)
    },
  }
  const compression = new Compression({ db, clock, events, games, workerPrograms, deploys, storage })
  t.teardown(() => compression.close())
  return compression
}

t.test('an end of the process ends compression, however large the file', async (t) => {
  const { app } = await startPlatform(t)
  const compressor = new Compressor(app.workerPrograms)
  const abort = new AbortController()
  const noise = randomBytes(30_000_000)
  const result = compressor.compress(noise, abort.signal).then(
    () => 'done',
    (error) => error.message,
  )
  setTimeout(() => abort.abort(new Error('the process stops')), 200)
  t.equal(await result, 'the process stops')
  t.equal((await compressor.compress(Buffer.alloc(5000, 'x'), never)).length, 2, 'and another worker takes its place')
  await compressor.close()
  await t.rejects(compressor.compress(Buffer.alloc(10), never))
})
