// Builds end one after the other, each in a transaction of its own: on SQLite nobody else writes during one, and a build of
// 20,000 files takes a tenth of a second.
import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { assertCountsHold } from '../quotas/recounting.ts'
import { build, deploy, filesOf } from './build.ts'

const BUILDS = 3
const DAY_MS = 86_400_000

/** Notes how many manifests each transaction from now on deletes, without those that delete none. */
function noteEnds({ app }: Platform, afterEach = () => {}): number[] {
  const ends: number[] = []
  const count = async () => (await app.db.query('select deploy_id from deploy_manifests')).length
  const transaction = app.db.transaction.bind(app.db)
  const noting: typeof transaction = async (work, options) => {
    const before = await count()
    const result = await transaction(work, options)
    const ended = before - (await count())
    if (ended > 0) {
      ends.push(ended)
      afterEach()
    }
    return result
  }
  app.db.transaction = noting
  return ends
}

for (const way of ['its owner deletes a game for good', 'a deleted game is purged', 'uploads expire'] as const)
  t.test(`${way}: a transaction for each build`, async (t) => {
    const platform = await startPlatform(t)
    const { app, clock } = platform
    const owner = await platform.signUp()
    const program = await platform.program(owner)
    const game = await platform.game(owner)
    const kept = await platform.game(owner, { title: 'Kept' })
    await deploy(platform, program, kept.id, build('kept'))
    for (let number = 0; number < BUILDS; number++) {
      if (way !== 'uploads expire') await deploy(platform, program, game.id, build(`${number}`))
      else await program.post('/api/deploy', { gameId: game.id, files: filesOf(build(`${number}`)) })
    }
    if (way === 'a deleted game is purged') await program.delete(`/api/games/${game.id}`)
    clock.advance(way === 'a deleted game is purged' ? 31 * DAY_MS : DAY_MS)
    const ends = noteEnds(platform)
    if (way === 'uploads expire') await new GarbageCollector(app).expire()
    else if (way === 'a deleted game is purged') await app.games.deletion.purge(new AbortController().signal)
    else await app.games.deletion.removeForGood(owner.id, game.slug, game.slug)
    t.same(ends, Array(BUILDS).fill(1))
    const left = await app.db.query<{ gameId: string }>(
      `select d.game_id as "gameId" from deploys d join deploy_manifests m on m.deploy_id = d.id`,
    )
    t.same(left, [{ gameId: kept.id }])
    await assertCountsHold(t, app)
  })

t.test('a server that stops ends no further build, and the next one goes on', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const [deleted, other] = [await platform.game(owner), await platform.game(owner, { title: 'Other' })]
  for (let number = 0; number < BUILDS; number++) {
    await deploy(platform, program, deleted.id, build(`${number}`))
    await program.post('/api/deploy', { gameId: other.id, files: filesOf(build(`other ${number}`)) })
  }
  await program.delete(`/api/games/${deleted.id}`)
  clock.advance(31 * DAY_MS)
  const collector = new GarbageCollector(app)
  const works = { purge: app.games.deletion.purge.bind(app.games.deletion), expire: collector.expire.bind(collector) }
  const { transaction } = app.db
  for (const [name, work] of Object.entries(works)) {
    const stopping = new AbortController()
    const stopped = noteEnds(platform, () => stopping.abort())
    await work(stopping.signal)
    app.db.transaction = transaction
    t.same(stopped, [1], `${name}: none after the one that was under way`)
    t.equal((await app.db.query('select id from games where id = ?', [deleted.id])).length, name === 'purge' ? 1 : 0)
    const ends = noteEnds(platform)
    await work(new AbortController().signal)
    app.db.transaction = transaction
    t.same(ends, Array(BUILDS - 1).fill(1), `${name}: the rest`)
  }
  t.same(await app.db.query('select deploy_id from deploy_manifests'), [])
  await assertCountsHold(t, app)
})
