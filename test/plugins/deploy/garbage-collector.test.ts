import t, { type Test } from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { BlobRow } from '../../../plugins/deploy/entities.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, liveBuild, sha256, upload } from './build.ts'

const HOUR = 3_600_000
const never = new AbortController().signal

async function prepared(t: Test) {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { app, clock } = platform
  const collector = new GarbageCollector(app)
  const stored = async () => {
    const keys: string[] = []
    for await (const { key } of app.storage.list('')) keys.push(key)
    return keys.length
  }
  /** Calls services instead of routes, because tokens created with the test clock would expire within the test. */
  const start = (files: Record<string, string | Buffer>) =>
    app.deploys.start(player.id, { gameId: game.id, files: filesOf(files) })
  return { platform, player, game, program, collector, clock, stored, start, app }
}

t.test('bytes of no deploy go after a day; those of the live one and of the history stay', async (t) => {
  const { platform, player, game, program, collector, clock, stored, start, app } = await prepared(t)
  await deploy(platform, program, game.id, build('one'))
  clock.advance(1000)
  await deploy(platform, program, game.id, build('two'))
  const abandoned = build('abandoned')
  const { uploads } = await start(abandoned)
  for (const wanted of uploads) await upload(platform, wanted, abandoned)
  t.equal(await stored(), 9)

  await collector.run(never)
  t.equal(await stored(), 9, 'nothing is younger than a day')
  clock.advance(26 * HOUR)
  await collector.run(never)
  t.equal(await stored(), 6, 'what was abandoned is gone')
  t.same(await liveBuild(platform, game.id), build('two'))
  const [, first] = (await app.deploys.list(player.id, game.id, { limit: 10 })).deploys.filter(
    ({ state }) => state !== 'expired',
  )
  await app.deploys.rollback(player.id, first?.id ?? '')
  t.same(await liveBuild(platform, game.id), build('one'))

  const again = await start(abandoned)
  t.equal(again.uploads.length, 3, 'and is wanted again')
  for (const wanted of again.uploads) t.equal((await upload(platform, wanted, abandoned)).status, 204)
  await app.deploys.finalize(player.id, again.deployId)
  t.same(await liveBuild(platform, game.id), abandoned)
})

t.test('bytes that a new deploy names are spared, however old they are', async (t) => {
  const { platform, player, game, collector, clock, start, app } = await prepared(t)
  const files = build('old')
  const { uploads } = await start(files)
  for (const wanted of uploads) await upload(platform, wanted, files)
  clock.advance(26 * HOUR)
  const fresh = await start(files)
  for (const wanted of fresh.uploads) await upload(platform, wanted, files)
  await collector.run(never)
  await app.deploys.finalize(player.id, fresh.deployId)
  t.same(await liveBuild(platform, game.id), files)
})

t.test(
  'a removal that a dead process left is ended, and keeps the bytes from being counted on until then',
  async (t) => {
    const { platform, player, game, collector, clock, start, app } = await prepared(t)
    const files = build('doomed')
    const { uploads } = await start(files)
    for (const wanted of uploads) await upload(platform, wanted, files)
    clock.advance(26 * HOUR)
    await app.db
      .em()
      .nativeUpdate(BlobRow, { sha256: sha256(files['index.html'] as string) }, { condemnedAt: clock.now() })
    await t.rejects(start(files), { code: 'blob_busy', statusCode: 503 })
    clock.advance(61_000)
    await collector.run(never)
    const fresh = await start(files)
    for (const wanted of fresh.uploads) await upload(platform, wanted, files)
    await app.deploys.finalize(player.id, fresh.deployId)
    t.same(await liveBuild(platform, game.id), files)
  },
)
