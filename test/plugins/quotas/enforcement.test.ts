// What players may have: refused at the door, however many knock at once, and counted to the byte.
import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { amount } from '../../kit/extent.ts'
import { type Answer, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, manifestBytes } from '../deploy/build.ts'
import { png, sendFile } from '../games/pictures.ts'
import { assertCountsHold } from './recounting.ts'

const bytesOf = (files: Record<string, string | Buffer>) =>
  Object.values(files).reduce((sum, bytes) => sum + Buffer.byteLength(bytes), 0)

const ANNOUNCEMENTS = amount(40, 200)

const limited = (limits: Record<string, number>) => ({ config: { limits } })

/** A build of one page of so many bytes, other ones for each stamp. */
const page = (stamp: string, bytes: number) => ({ 'index.html': stamp.padEnd(bytes, '.') })

/** The manifest of a page counts too. */
const MANIFEST = manifestBytes(page('', 100))

t.test('a deploy past the quota is refused when it is announced, and nothing has changed', async (t) => {
  const limit = 1000 + 2 * MANIFEST
  const platform = await startPlatform(t, limited({ storageBytesPerPlayer: limit }))
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  await deploy(platform, program, game.id, page('one', 600))

  const refused = await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('two', 401)) })
  t.equal(refused.status, 403)
  t.match(refused.body, {
    error: {
      code: 'quota_exceeded',
      message: new RegExp(`${401 + MANIFEST} bytes more than you store now, ${600 + MANIFEST} bytes of the`),
    },
    quota: 'storageBytesPerPlayer',
    used: 600 + MANIFEST,
    limit,
  })
  t.equal((await program.get(`/api/games/${game.id}/deploys`)).body.deploys.length, 1)
  t.equal((await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used, 600 + MANIFEST)

  await deploy(platform, program, game.id, page('three', 400))
  t.equal((await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used, limit, 'to the last byte')
  const again = await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('one', 600)) })
  t.equal(again.status, 403, 'the manifest of files that are there takes room too')
  await assertCountsHold(t, platform.app)
})

t.test('the same file counts once, however many deploys and games have it', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const program = await platform.program(player)
  const [pong, chess] = [await platform.game(player), await platform.game(player, { title: 'Chess' })]
  const files = { ...build('shared', 5), 'copy.txt': '"shared/0"' }
  const distinct = bytesOf(build('shared', 5))
  const manifest = manifestBytes(files)
  await deploy(platform, program, pong.id, files)
  const second = await deploy(platform, program, pong.id, files)
  await deploy(platform, program, chess.id, files)
  const used = async () => (await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used
  t.equal(await used(), distinct + 3 * manifest)
  await program.delete(`/api/games/${chess.id}`)
  t.equal(await used(), distinct + 3 * manifest)
  await deploy(platform, program, pong.id, page('new', 10))
  t.equal((await program.delete(`/api/deploy/${second.deployId}`)).status, 204)
  t.equal(await used(), distinct + 10 + 2 * manifest + manifestBytes(page('new', 10)))
  await assertCountsHold(t, platform.app)
})

t.test('an announced size that is untrue hides nothing', async (t) => {
  const platform = await startPlatform(t, limited({ storageBytesPerPlayer: 1000 }))
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const big = page('big', 2000)
  const [file] = filesOf(big)
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: [{ ...file, size: 1 }] })).status, 200)
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: [file] })).status, 403)
  await assertCountsHold(t, platform.app)
})

t.test(`${ANNOUNCEMENTS} announcements at once do not pass together`, async (t) => {
  const limits = { storageBytesPerPlayer: 10 * (100 + MANIFEST), openDeploysPerPlayer: 1000 }
  const platform = await startPlatform(t, limited(limits))
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const announce = async (stamp: string): Promise<Answer> => {
    const answer = await program.post('/api/deploy', { gameId: game.id, files: filesOf(page(stamp, 100)) })
    // A slow machine lets the last ones wait too long.
    return answer.body.error?.code === 'database_busy' ? announce(stamp) : answer
  }
  const answers = await Promise.all(Array.from({ length: ANNOUNCEMENTS }, (_, index) => announce(`${index}`)))
  t.equal(answers.filter(({ status }) => status === 200).length, 10)
  t.equal(
    answers.filter(({ status, body }) => status === 403 && body.error.code === 'quota_exceeded').length,
    ANNOUNCEMENTS - 10,
  )
  await assertCountsHold(t, platform.app)
})

t.test('what expires or fails is free again at once', async (t) => {
  const platform = await startPlatform(t, limited({ storageBytesPerPlayer: 1001 + MANIFEST }))
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const announce = async (stamp: string) =>
    program.post('/api/deploy', { gameId: game.id, files: filesOf(page(stamp, 1000)) })
  const failed = await announce('one')
  t.equal((await announce('two')).status, 403)
  await app.deploys.fail(failed.body.deployId, 'The test says so.')
  t.equal((await announce('two')).status, 200)
  clock.advance(25 * 3_600_000)
  await new GarbageCollector(app).expire()
  t.equal((await announce('three')).status, 200)
  await assertCountsHold(t, app)
})

t.test('uploads of a day end with the day', async (t) => {
  const platform = await startPlatform(t, limited({ uploadBytesPerDay: 10_000 }))
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  await deploy(platform, program, game.id, page('one', 9000))
  t.same((await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('one', 9000)) })).body.uploads, [])
  const refused = await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('two', 200)) })
  t.match(refused.body, { error: { code: 'quota_exceeded' }, quota: 'uploadBytesPerDay', used: 9000, limit: 10_000 })
  platform.clock.advance(24 * 3_600_000)
  const fresh = await platform.program(player)
  t.equal((await fresh.post('/api/deploy', { gameId: game.id, files: filesOf(page('two', 200)) })).status, 200)
})

t.test('games and assets are counted, and a deleted game counts until it is deleted for good', async (t) => {
  const platform = await startPlatform(t, limited({ gamesPerPlayer: 2, assetsPerPlayer: 1 }))
  const player = await platform.signUp()
  const program = await platform.program(player)
  const create = (title: string) => program.post('/api/games', { title, description: 'A game.' })
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map(create))
  t.same(answers.map(({ status }) => status).toSorted(), [201, 201, 403, 403])
  const refused = answers.find(({ status }) => status === 403)
  t.match(refused?.body, { error: { code: 'quota_exceeded' }, quota: 'gamesPerPlayer', used: 2, limit: 2 })
  const first = answers.find(({ status }) => status === 201)?.body as { id: string; slug: string }
  t.equal((await program.delete(`/api/games/${first.id}`)).status, 204)
  t.match((await create('e')).body, { error: { code: 'quota_exceeded' }, quota: 'gamesPerPlayer', used: 2, limit: 2 })
  t.equal((await platform.app.games.deletion.restore(player.id, first.id)).id, first.id, 'it counts already')
  t.equal((await program.delete(`/api/games/${first.id}?forever=true&confirm=${first.slug}`)).status, 204)
  t.equal((await create('e')).status, 201)
  t.equal((await create('f')).status, 403)

  const asset = () => sendFile(program, '/api/assets', png(9, 9))
  t.equal((await asset()).status, 201)
  t.match((await asset()).body, { error: { code: 'quota_exceeded' }, quota: 'assetsPerPlayer', used: 1, limit: 1 })
  await assertCountsHold(t, platform.app)
})

t.test('after a lower limit what is there stays, and nothing new comes in', async (t) => {
  const platform = await startPlatform(t)
  const admin = await platform.admin()
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  await deploy(platform, program, game.id, page('one', 500))
  const two = await deploy(platform, program, game.id, page('two', 500))
  const set = (body: unknown, by: PlayerClient = admin) => by.patch(`/api/admin/players/${player.id}/quotas`, body)

  t.equal((await set({ storageBytesPerPlayer: 10 }, player)).status, 403)
  const lowered = await set({ storageBytesPerPlayer: 10 })
  t.match(lowered.body, { quotas: { storageBytesPerPlayer: { used: 1000 + 2 * MANIFEST, limit: 10 } } })
  t.same(lowered.body.overrides, { storageBytesPerPlayer: 10 })
  t.equal((await program.post(`/api/deploy/${two.deployId}/rollback`)).status, 200)
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('one', 500)) })).status, 403)
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('3', 1)) })).status, 403)
  t.match((await set({ storageBytesPerPlayer: null })).body.quotas.storageBytesPerPlayer, { limit: null })
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: filesOf(page('3', 1)) })).status, 200)
  const back = await set({ storageBytesPerPlayer: 'default' })
  t.match(back.body, { quotas: { storageBytesPerPlayer: { limit: 5 * 1024 ** 3 } }, overrides: {} })
  t.equal((await set({ storageBytesPerPlayer: -1 })).status, 400)
  t.equal((await set({ bogus: 1 })).status, 400)
  t.equal((await admin.patch('/api/admin/players/ply_nobody/quotas', { gamesPerPlayer: 1 })).status, 404)
})

t.test('pictures and assets count, and free what they took', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const picture = png(8, 8)
  const added = await sendFile(program, `/api/games/${game.id}/media`, picture)
  t.equal(added.status, 201)
  const bytes = png(9, 9)
  const asset = await sendFile(program, '/api/assets', bytes)
  const usage = (await program.get('/api/usage')).body
  t.same(
    usage.kinds.toSorted((a: { kind: string }, b: { kind: string }) => (a.kind < b.kind ? -1 : 1)),
    [
      { kind: 'assets', bytes: bytes.length },
      { kind: 'media', bytes: picture.length },
    ],
  )
  t.equal(usage.largest.length, 2)
  await assertCountsHold(t, platform.app)
  t.equal((await program.delete(`/api/games/${game.id}/media/${added.body.id}`)).status, 204)
  t.equal((await program.delete(`/api/assets/${asset.body.id}`)).status, 204)
  t.same((await program.get('/api/usage')).body.kinds, [])
  await assertCountsHold(t, platform.app)
})

t.test('a game that is gone for good takes its bytes along, and an account its own', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  await deploy(platform, program, game.id, build('gone'))
  await sendFile(program, `/api/games/${game.id}/media`, png(8, 8))
  await sendFile(program, '/api/assets', png(9, 9))
  await app.identity.deletion.remove(player.id)
  await assertCountsHold(t, app)
  t.ok((await app.quotas.bytesByKind(player.id)).length > 0, 'a deleted game can still be brought back')
  clock.advance(31 * 24 * 3_600_000)
  await app.games.deletion.purge(new AbortController().signal)
  t.same(await app.quotas.bytesByKind(player.id), [])
  await assertCountsHold(t, app)
})
