// In a process of its own: ids never go back, and other files have been further in time.
import t from 'tap'
import { Retention } from '../../../plugins/deploy/retention.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, liveBuild } from './build.ts'

const DAY = 24 * 3_600_000
const never = new AbortController().signal

t.test('of the deploys that were live the newest stay, whatever they were deployed after', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const [game, other] = [await platform.game(player), await platform.game(player, { title: 'Other' })]
  const ids: string[] = []
  for (const stamp of ['one', 'two', 'three', 'four', 'five']) {
    ids.push((await deploy(platform, program, game.id, build(stamp))).deployId)
    clock.advance(1000)
  }
  const elsewhere = await deploy(platform, program, other.id, build('elsewhere'))
  // The first one was live last, so it counts as new.
  await program.post(`/api/deploy/${ids[0]}/rollback`)
  clock.advance(1000)
  await program.post(`/api/deploy/${ids[4]}/rollback`)
  const removed: string[] = []
  app.events.on('deploy.removed', ({ deployId }) => {
    removed.push(deployId)
  })

  await new Retention(app, 2).sweep(never)
  const left = async (gameId: string) =>
    (await app.deploys.list(player.id, gameId, { limit: 10 })).deploys.map(({ id }) => id).toSorted()
  t.same(await left(game.id), [ids[0], ids[3], ids[4]].toSorted())
  t.same(removed.toSorted(), [ids[1], ids[2]].toSorted())
  t.same(await left(other.id), [elsewhere.deployId])
  t.same(await liveBuild(platform, game.id), build('five'))
  t.same(await app.db.query('select count(*) as rows from deploy_manifests'), [{ rows: 4 }])
  await app.deploys.rollback(player.id, ids[0] as string)
  t.same(await liveBuild(platform, game.id), build('one'), 'what stays can be put live')
})

t.test('what never was live goes after thirty days: previews, and deploys that failed or expired', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const live = await deploy(platform, program, game.id, build('live'))
  const failed = await app.deploys.start(player.id, { gameId: game.id, files: filesOf(build('failed')) })
  await app.deploys.fail(failed.deployId, 'The test says so.')
  const preview = await app.deploys.start(player.id, { gameId: game.id, files: filesOf(build('live')) })
  await app.deploys.finalize(player.id, preview.deployId, { preview: true })
  const retention = new Retention(app, 20)
  const count = async () => (await app.deploys.list(player.id, game.id, { limit: 10 })).deploys.length

  clock.advance(29 * DAY)
  const fresh = await app.deploys.start(player.id, { gameId: game.id, files: filesOf(build('fresh')) })
  await app.deploys.fail(fresh.deployId, 'The test says so.')
  await retention.sweep(never)
  t.equal(await count(), 4)
  clock.advance(2 * DAY)
  await retention.sweep(never)
  const { deploys } = await app.deploys.list(player.id, game.id, { limit: 10 })
  t.same(deploys.map(({ id }) => id).toSorted(), [live.deployId, fresh.deployId].toSorted())
})
