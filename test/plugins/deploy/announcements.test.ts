// Tests that announced files are bounded and counted, whether they ever arrive or not.
import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { ManifestRow } from '../../../plugins/deploy/entities.ts'
import { type Platform, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { build, deploy, filesOf, sha256 } from './build.ts'

const DAY_MS = 86_400_000

/** Files that nobody has; long enough that the manifest is stored compressed. */
const announced = (stamp: string, files = 60) => filesOf(build(stamp, files))

async function withGame(t: Parameters<typeof startPlatform>[0], options?: PlatformOptions) {
  const platform = await startPlatform(t, options)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const announce = (stamp: string) => program.post('/api/deploy', { gameId: game.id, files: announced(stamp) })
  return { platform, app: platform.app, player, game, program, announce }
}

const manifestsOf = async ({ app }: Platform) => app.db.em().find(ManifestRow, {})
const stored = async ({ app }: Platform, playerId: string) =>
  (await app.quotas.quotasOf(playerId)).storageBytesPerPlayer.used
const recounted = async ({ app }: Platform, playerId: string) => {
  const { bytes = 0, blobs = [] } = (await app.quotas.kinds.get('deploys')?.tally(playerId)) ?? {}
  return new Map(blobs.map((blob) => [blob.sha256, blob.bytes])).values().reduce((sum, size) => sum + size, bytes)
}

async function boundsOpenDeploys(t: Parameters<typeof startPlatform>[0], options?: PlatformOptions) {
  const { platform, app, player, game, program, announce } = await withGame(t, options)
  const answers = await Promise.all(Array.from({ length: 14 }, (_, index) => announce(`game ${index}`)))
  const begun = answers.filter(({ status }) => status === 200).map(({ body }) => body.deployId as string)
  t.equal(begun.length, 10, 'as many as allowed, also of parallel ones')
  for (const { status, body } of answers.filter(({ status }) => status !== 200)) {
    t.match({ status, body }, { status: 409, body: { error: { code: 'too_many_open_deploys' }, limit: 10 } })
    t.match(body.error.message, /Finalize one, or delete one with DELETE/)
  }
  const refused = await announce('one more')
  t.same(refused.body.open, begun.toSorted(), 'the answer names the open ones')
  const rows = await app.db.query('select sha256 from blobs where sha256 = ?', [sha256('"one more/0"')])
  t.same(rows, [], 'a refused announcement leaves nothing')
  t.equal((await manifestsOf(platform)).length, 10)
  t.equal(await stored(platform, player.id), await recounted(platform, player.id))

  t.equal((await program.delete(`/api/deploy/${begun[0]}`)).status, 204)
  t.equal((await announce('another')).status, 200)
  t.equal((await announce('one more')).status, 409)

  // Each list of files also counts for the player until its deploy has ended.
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  t.equal(await stored(platform, player.id), 0, 'the deletion of a game ends its open deploys')
  t.equal((await manifestsOf(platform)).length, 0)
  t.match(await app.db.query("select id from deploys where state in ('uploading', 'finalizing')"), [])
  t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 200)
  const [ended] = begun.slice(1)
  t.equal((await program.post(`/api/deploy/${ended}/finalize`)).status, 410, 'they stay over in a restored game')
  t.equal((await announce('one more')).status, 200, 'which begins with none')
}

t.test('a player has ten deploys that wait for their files', async (t) => boundsOpenDeploys(t))

t.test('so it is on PostgreSQL', needsPostgres, async (t) => {
  const database = { driver: 'postgres', url: await (await startPostgres()).database() }
  await boundsOpenDeploys(t, { config: { database, secret: 'x'.repeat(40), limits: { uploadsPerPlayer: 100 } } })
})

t.test('a manifest counts for its owner until it is gone', async (t) => {
  const { platform, app, clock, player, program, game, announce } = await withGame(t).then((of) => ({
    ...of,
    clock: of.platform.clock,
  }))
  const contents = announced('first').reduce((sum, { size }) => sum + size, 0)
  const { body } = await announce('first')
  const [manifest] = await manifestsOf(platform)
  const { length } = manifest?.files ?? ''
  t.ok(length > 1000 && length < JSON.stringify(announced('first')).length / 2, 'it is compact')
  t.equal(await stored(platform, player.id), contents + length)
  t.same([...((await app.deploys.manifest(body.deployId)) ?? [])].length, 60, 'it is read as it was written')

  await program.delete(`/api/deploy/${body.deployId}`)
  t.equal(await stored(platform, player.id), 0)
  const { deployId } = (await announce('second')).body
  await app.deploys.fail(deployId, 'A test.')
  t.equal(await stored(platform, player.id), 0)
  await announce('third')
  clock.advance(DAY_MS)
  await new GarbageCollector(app).expire()
  t.equal(await stored(platform, player.id), 0)
  t.same(await manifestsOf(platform), [], 'what failed or expired has no manifest')
  t.match((await program.get(`/api/deploy/${deployId}`)).body, { state: 'failed', files: 60 })

  const live = build('live', 60)
  const first = await deploy(platform, program, game.id, live)
  await deploy(platform, program, game.id, { ...live, 'index.html': 'changed' })
  t.equal(await stored(platform, player.id), await recounted(platform, player.id))
  const { largest } = (await program.get('/api/usage')).body
  const own = (await manifestsOf(platform)).find(({ deployId }) => deployId === first.deployId)?.files.length ?? 0
  const frees = own + Buffer.byteLength(live['index.html'] as string)
  t.match(
    largest.find(({ id }: { id: string }) => id === first.deployId),
    { frees },
  )
})

t.test('each announced file counts for the day', async (t) => {
  const limits = { uploadBytesPerDay: 100 * 4096 }
  const { program, announce } = await withGame(t, { config: { limits } })
  const { body } = await announce('first')
  await program.delete(`/api/deploy/${body.deployId}`)
  t.match(await announce('second'), { status: 403, body: { error: { code: 'quota_exceeded' } } })
})

t.test('a long answer comes in parts, and again for the same Idempotency-Key', async (t) => {
  const { app, program, game } = await withGame(t)
  const files = announced('large', 1200)
  const headers = { 'idempotency-key': 'one' }
  const first = await program.post('/api/deploy', { gameId: game.id, files }, { headers })
  t.equal(first.status, 200)
  t.same(
    first.body.uploads.map(({ path }: { path: string }) => path),
    files.map(({ path }) => path),
  )
  const again = await program.post('/api/deploy', { gameId: game.id, files }, { headers })
  t.equal(again.headers['idempotent-replay'], 'true')
  t.same(again.body, first.body)
  const other = { gameId: game.id, files: files.slice(1), message: 'x' }
  t.equal((await program.post('/api/deploy', other, { headers })).status, 409)
  const rows = await app.db.query<{ bytes: number }>('select length(answer) as bytes from idempotent_answers')
  t.ok(
    rows.every(({ bytes }) => bytes < 200),
    'the addresses are not stored',
  )
})
