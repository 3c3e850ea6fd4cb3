import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { Deploys } from '../../../plugins/deploy/deploys.ts'
import { DeployUpload } from '../../../plugins/deploy/entities.ts'
import { previewUrl } from '../../../plugins/deploy/previews.ts'
import { UploadLog } from '../../../plugins/deploy/uploads/upload-log.ts'
import { IgnoreRules } from '../../../plugins/deploy/zip/ignore-rules.ts'
import { publishArchive } from '../../../plugins/deploy/zip/publish.ts'
import { faultyStorage } from '../../kit/fault-storage.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, liveBuild, sha256, upload } from './build.ts'
import { zipOf } from './zip-writer.ts'

async function withGame(t: Test, config = {}) {
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  return { platform, app: platform.app, player, game, program }
}

t.test('of two changes that are published at once none is lost', async (t) => {
  const { app, player, game } = await withGame(t)
  const publish = (path: string, more: { basedOn?: string; preview?: boolean; whole?: boolean } = {}) => {
    const files = new Map([path, 'index.html'].map((each) => [each, Buffer.from(each)]))
    return app.deploys.publish(player.id, { gameId: game.id, files, whole: false, remove: [], ...more })
  }
  const pathsOf = async () => {
    const { liveDeployId } = await app.games.mustOwn(player.id, game.id)
    return [...((await app.deploys.manifest(liveDeployId ?? '')) ?? new Map()).keys()].sort()
  }
  const both = async (first: Promise<unknown>, second: Promise<unknown>) => {
    const done = await Promise.allSettled([first, second])
    const refused = done.filter((one) => one.status === 'rejected')
    t.match(refused, [{ reason: { code: 'conflict', message: /^Another deploy is live by now: dep_/ } }])
    return done.findIndex((one) => one.status === 'fulfilled')
  }
  const winner = ['a', 'b'][await both(publish('a'), publish('b'))] as string
  t.same(await pathsOf(), [winner, 'index.html'].sort(), 'nothing was live before')
  const other = ['c', 'd'][await both(publish('c'), publish('d'))] as string
  t.same(await pathsOf(), [winner, other, 'index.html'].sort())
  const basedOn = (await app.games.mustOwn(player.id, game.id)).liveDeployId as string
  await both(publish('e', { basedOn, whole: true }), publish('f', { basedOn, whole: true }))
  await Promise.all([publish('g', { preview: true }), publish('h', { preview: true }), publish('i', { whole: true })])
  t.same(await pathsOf(), ['i', 'index.html'])
})

t.test('every deploy that was live has an address of its own', async (t) => {
  const { platform, app, game, program } = await withGame(t)
  const first = await deploy(platform, program, game.id, build('one'))
  const { body } = await program.get(`/api/deploy/${first.deployId}`)
  const short = first.deployId.slice(-10).toLowerCase()
  t.equal(body.previewUrl, `http://pong--${short}.localhost:8080`)
  t.same(app.origins.parse(new URL(body.previewUrl).host), {
    kind: 'game',
    host: `pong--${short}.localhost:8080`,
    slug: 'pong',
    preview: short,
    domain: null,
  })
  t.equal(await app.deploys.manifests.byPreview(game.id, short), first.deployId)
  await deploy(platform, program, game.id, build('two'))
  t.equal(
    await app.deploys.manifests.byPreview(game.id, short),
    first.deployId,
    'superseded, and still there to look at',
  )

  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(build('three')) })
  t.equal((await program.get(`/api/deploy/${begun.body.deployId}`)).body.previewUrl, null)
  const other = await platform.game(await platform.signUp())
  for (const [gameId, id] of [
    [game.id, begun.body.deployId.slice(-10).toLowerCase()],
    [other.id, short],
    [game.id, short.slice(1)],
    [game.id, short.toUpperCase()],
    [game.id, '%'.repeat(10)],
    [game.id, '_'.repeat(10)],
    [game.id, ''],
  ] as const)
    t.equal(
      await app.deploys.manifests.byPreview(gameId, id),
      null,
      `${id} of ${gameId === game.id ? 'the' : 'another'} game`,
    )
})

t.test('a preview has no address where none fits', async (t) => {
  const game = (slug: string) => `https://${slug}.games.example`
  const id = 'dep_01ARZ3NDEKTSV4RRFFQ69G5FAV'
  t.equal(
    previewUrl({ byPort: false, game }, 'x'.repeat(51), id),
    `https://${'x'.repeat(51)}--FFQ69G5FAV.games.example`.replace('FFQ69G5FAV', 'ffq69g5fav'),
  )
  t.equal(previewUrl({ byPort: false, game }, 'x'.repeat(52), id), null)
  t.equal(previewUrl({ byPort: true, game }, 'pong', id), null)
})

t.test('a deploy is deleted unless it is live', async (t) => {
  const { platform, app, player, game, program } = await withGame(t)
  const removed: unknown[] = []
  app.events.on('deploy.removed', (event) => void removed.push(event))
  const first = await deploy(platform, program, game.id, build('one'))
  t.match(await program.delete(`/api/deploy/${first.deployId}`), { status: 409, body: { error: { code: 'conflict' } } })
  const second = await deploy(platform, program, game.id, build('two'))
  const stranger = await platform.program(await platform.signUp())
  t.equal((await stranger.delete(`/api/deploy/${first.deployId}`)).status, 404)
  const reader = await platform.program(player, ['games:read'])
  t.equal((await reader.delete(`/api/deploy/${first.deployId}`)).status, 403)

  t.equal((await program.delete(`/api/deploy/${first.deployId}`)).status, 204)
  t.same(removed, [{ gameId: game.id, deployId: first.deployId, slug: 'pong' }])
  t.equal((await program.delete(`/api/deploy/${first.deployId}`)).status, 404)
  t.equal((await program.get(`/api/deploy/${first.deployId}`)).status, 404)
  t.equal((await program.post(`/api/deploy/${first.deployId}/rollback`)).status, 404)
  t.equal(await app.deploys.manifest(first.deployId), null)
  t.equal(await app.deploys.manifests.byPreview(game.id, first.deployId.slice(-10).toLowerCase()), null)
  t.same(await liveBuild(platform, game.id), build('two'))

  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(build('three')) })
  t.equal((await program.delete(`/api/deploy/${begun.body.deployId}`)).status, 204)
  t.equal((await upload(platform, begun.body.uploads[0], build('three'))).status, 403)
  t.equal((await program.post(`/api/deploy/${begun.body.deployId}/finalize`)).status, 404)
  t.match((await program.get(`/api/games/${game.id}/deploys`)).body.deploys, [{ id: second.deployId }])
})

t.test('of a rollback and a deletion at once, one holds', async (t) => {
  const { platform, app, player, game, program } = await withGame(t)
  for (let round = 0; round < 10; round++) {
    const { deployId } = await deploy(platform, program, game.id, build(`${round}`))
    platform.clock.advance(1000)
    await deploy(platform, program, game.id, build(`${round} later`))
    await Promise.allSettled([app.deploys.rollback(player.id, deployId), app.deploys.remove(player.id, deployId)])
    const { liveDeployId } = await app.games.get(game.id)
    t.ok(liveDeployId && (await app.deploys.manifest(liveDeployId)), 'what is live is there')
    t.equal(liveDeployId === deployId, (await app.deploys.row(deployId).catch(() => null))?.state === 'live')
  }
})

t.test('an archive that could not be published is a deploy that failed, and says why', async (t) => {
  const { platform, app, player, game, program } = await withGame(t)
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-failed-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'build.zip')
  await writeFile(file, zipOf(build('doomed')))
  const storage = faultyStorage(app.storage, { failOn: 1, mode: 'before' })
  const { config, db, clock, events, games, identity, jobs, keys, origins, quotas, workerPrograms } = app
  const limits = { filesPerDeploy: 100, deployBytes: 1e6, deployFileBytes: 1e6, openDeploysPerPlayer: 10 }
  const deploys = new Deploys(
    { config, db, clock, events, games, identity, jobs, keys, origins, quotas, workerPrograms, storage },
    limits,
  )
  const archive = { playerId: player.id, gameId: game.id, file, message: 'Doomed' }
  const ignoreRules = new IgnoreRules(workerPrograms)
  await t.rejects(publishArchive({ deploys, ignoreRules }, limits, archive), { code: 'storage_unavailable' })
  const [failed] = (await app.deploys.list(player.id, game.id, { limit: 5 })).deploys
  t.match(failed, { state: 'failed', failure: 'The storage does not answer.', message: 'Doomed', previewUrl: null })
  t.match((await player.get('/games/pong/deploys')).text, /The storage does not answer\./)
  const { status, body } = await program.post(`/api/deploy/${failed?.id}/finalize`)
  t.match({ status, body }, { status: 409, body: { error: { code: 'conflict' } } })
  t.equal(await app.db.em().count(DeployUpload), 0)
  await publishArchive({ deploys, ignoreRules }, limits, archive)
  t.same(await liveBuild(platform, game.id), build('doomed'), 'the next attempt is live')
})

t.test('uploads that end together are acknowledged by few transactions, each for its own deploy', async (t) => {
  const { app, player, game } = await withGame(t)
  const files = build('many', 150)
  const digests = filesOf(files).map((file) => file.sha256)
  const one = await app.deploys.begin(player.id, { gameId: game.id, files: filesOf(files) })
  const two = await app.deploys.begin(player.id, { gameId: game.id, files: filesOf(files) })
  const over = await app.deploys.begin(player.id, { gameId: game.id, files: filesOf(files) })
  await app.deploys.fail(over.deployId, 'over')

  let statements = 0
  const counted = new Proxy(app.db, {
    get(target, name) {
      if (name !== 'execute') return Reflect.get(target, name)
      return (...call: Parameters<typeof target.execute>) => {
        statements++
        return target.execute(...call)
      }
    },
  })
  const log = new UploadLog(counted)
  const noted = await Promise.all(
    digests.flatMap((digest) => [one, two, over].map(({ deployId }) => log.add(deployId, digest))),
  )
  t.equal(noted.filter(Boolean).length, 300)
  t.ok(statements <= 12, `${statements} statements for 450 notes`)
  for (const { deployId } of [one, two]) {
    t.equal(await app.db.em().count(DeployUpload, { deployId }), 150)
    t.equal(await log.add(deployId, digests[0] as string), true, 'twice is no harm')
  }
  t.equal(await app.db.em().count(DeployUpload), 300)
  t.equal(await log.add('dep_01ARZ3NDEKTSV4RRFFQ69G5FAV', digests[0] as string), false)
})

t.test('bytes that did not come whole count for nothing', async (t) => {
  const { app, player, game } = await withGame(t)
  const bytes = Buffer.from('<h1>full</h1>')
  const file = { path: 'index.html', sha256: sha256(bytes), size: bytes.length }
  const { deployId } = await app.deploys.begin(player.id, { gameId: game.id, files: [file] })
  const short = Readable.from([bytes.subarray(0, 5)])
  await t.rejects(app.deploys.uploads.store(deployId, file, short), { code: 'digest_mismatch' })
  await t.rejects(app.deploys.finalize(player.id, deployId), { code: 'incomplete_deploy' })
  t.equal(await app.storage.head(app.deploys.blobKey(file.sha256)), null)
})
