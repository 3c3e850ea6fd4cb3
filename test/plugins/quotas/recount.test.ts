// Whatever players do, and whatever dies: the counts are what a recount finds.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { BackgroundJob } from '../../../core/jobs/jobs.ts'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { Retention } from '../../../plugins/deploy/retention.ts'
import { Recount } from '../../../plugins/quotas/recount.ts'
import { amount, inFull } from '../../kit/extent.ts'
import { type Client, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { SEED } from '../../kit/seed.ts'
import { until } from '../../kit/until.ts'
import { type Build, deploy, filesOf, manifestBytes, upload } from '../deploy/build.ts'
import { png, sendFile } from '../games/pictures.ts'
import { assertCountsHold } from './recounting.ts'

const DAY = 86_400_000
const never = new AbortController().signal
const STEPS = [
  'announce',
  'deploy',
  'deploy',
  'preview',
  'fail',
  'remove',
  'remove',
  'rollback',
  'pin',
  'retain',
  'expire',
  'collect',
  'picture',
  'unpicture',
  'asset',
  'unasset',
  'delete',
  'restore',
  'purge',
  'together',
  'recount',
] as const

/** One thing that happens: what, to which of the things there are, with which of a few files. */
const step = fc.tuple(fc.constantFrom(...STEPS), fc.nat(50), fc.nat(6), fc.nat(6))

t.test(`any history leaves counts that equal a recount`, (t) => histories(t, {}, amount(6, 150)))

inFull(t)?.test('so it does on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
  await histories(t, config, 40)
})

async function histories(t: Test, config: Record<string, unknown>, runs: number): Promise<void> {
  const platform = await startPlatform(t, {
    config: { ...config, limits: { gamesPerPlayer: 1e6, assetsPerPlayer: 1e6 } },
  })
  const { app, clock } = platform
  const player = await platform.signUp()
  const collector = new GarbageCollector(app)
  let program: Client = await platform.program(player)
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
    const games = [(await platform.game(player)).id, (await platform.game(player)).id]
    const deploys: string[] = []
    const assets: string[] = []
    const advance = async (ms: number) => {
      // In steps that a session outlives.
      for (let left = ms; left > 0; left -= 10 * DAY) {
        clock.advance(Math.min(left, 10 * DAY))
        await player.get('/settings')
      }
      program = await platform.program(player)
    }
    for (const [what, nth, one, other] of steps) {
      const game = games[nth % games.length] as string
      const deployId = deploys[nth % Math.max(1, deploys.length)]
      const files: Build = { 'index.html': 'a'.repeat(one), 'b.txt': 'b'.repeat(other), 'c.txt': 'a'.repeat(one) }
      // What is refused changes nothing, which is part of what is tested.
      if (what === 'announce') {
        const { body } = await program.post('/api/deploy', { gameId: game, files: filesOf(files) })
        if (body.deployId) deploys.push(body.deployId)
      } else if (what === 'deploy') {
        const made = await deploy(platform, program, game, files).catch(() => null)
        if (made) deploys.push(made.deployId)
      } else if (what === 'preview') {
        const { body } = await program.post('/api/deploy', { gameId: game, files: filesOf(files) })
        for (const wanted of body.uploads ?? []) await upload(platform, wanted, files)
        if (body.deployId) await program.post(`/api/deploy/${body.deployId}/finalize?preview=true`)
        if (body.deployId) deploys.push(body.deployId)
      } else if (what === 'together') {
        const mine = deploys.slice(-3).map((id) => program.delete(`/api/deploy/${id}`))
        const more = [files, { ...files, 'd.txt': 'd' }, files].map((each) =>
          program.post('/api/deploy', { gameId: game, files: filesOf(each) }),
        )
        await Promise.all([...mine, ...more, collector.expire()])
      } else if (what === 'fail' && deployId) await app.deploys.fail(deployId, 'The test says so.')
      else if (what === 'remove' && deployId) await program.delete(`/api/deploy/${deployId}`)
      else if (what === 'rollback' && deployId) await program.post(`/api/deploy/${deployId}/rollback`)
      else if (what === 'pin' && deployId) await program.patch(`/api/deploy/${deployId}`, { pinned: nth % 2 === 0 })
      else if (what === 'retain') await new Retention(app, 1 + (nth % 2)).sweep(never)
      else if (what === 'expire') {
        await advance(DAY + 1000)
        await collector.expire()
      } else if (what === 'collect') {
        await advance(2 * DAY)
        await collector.collect(never)
      } else if (what === 'picture') await sendFile(program, `/api/games/${game}/media`, png(1 + one, 1 + other))
      else if (what === 'unpicture') {
        const { body } = await program.get(`/api/games/${game}`)
        const [first] = body.media ?? []
        if (first) await program.delete(`/api/games/${game}/media/${first.id}`)
      } else if (what === 'asset') {
        const { body } = await sendFile(program, '/api/assets', png(1 + one, 1 + other))
        assets.push(body.id)
      } else if (what === 'unasset' && assets.length > 0) await program.delete(`/api/assets/${assets.pop()}`)
      else if (what === 'delete') await program.delete(`/api/games/${game}`)
      else if (what === 'restore') await app.games.deletion.restore(player.id, game).catch(() => {})
      else if (what === 'purge') {
        await advance(31 * DAY)
        await app.games.deletion.purge(never)
      } else if (what === 'recount') {
        const wrong = await new Recount(app, app.quotas).run(never)
        if (wrong.length > 0) throw new Error(JSON.stringify(wrong))
      }
    }
    const wrong = await new Recount(app, app.quotas).run(never)
    if (wrong.length > 0) throw new Error(JSON.stringify(wrong))
  })
  await fc.assert(property, { numRuns: runs, endOnFailure: true, seed: SEED })
  await assertCountsHold(t, app)
}

t.test('a count that went wrong is mended, and said in the log', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const files = { 'index.html': 'twelve bytes' }
  await deploy(platform, program, game.id, files)
  const counted = 12 + manifestBytes(files)
  // The scheduled recount, which runs soon after the start, would mend the count first.
  await until(async () => {
    const job = await app.db.em().findOne(BackgroundJob, { name: 'quotas/recount' })
    return job?.state === 'queued' && (job.dueAt ?? 0) > clock.now()
  })
  await app.db.execute("update quota_stored_bytes set bytes = 5 where kind = 'deploys'")
  await app.db.execute('delete from quota_shared_blobs')
  const found = await new Recount(app, app.quotas).run(never)
  t.match(found, [{ ownerId: player.id, kind: 'deploys', noted: 5, counted }])
  await app.db.execute("update quota_stored_bytes set bytes = 7 where kind = 'deploys'")
  t.match(await new Recount(app, app.quotas).run(never), [{ kind: 'deploys', noted: 7, counted }], 'the sum alone')
  await assertCountsHold(t, app)
  t.equal((await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used, counted)
})
