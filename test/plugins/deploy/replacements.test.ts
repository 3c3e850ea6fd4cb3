// Two makers deploy at once: the later one is live, and both are told about the other.
import t, { type Test } from 'tap'
import { amount } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { build, deploy, filesOf, upload } from './build.ts'

const ROUNDS = amount(4, 20)

async function withTwoMakers(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(t, options)
  const [ada, grace] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Grace' })]
  const game = await platform.game(ada)
  await join(ada, game, 'maker', [grace])
  const [first, second] = [await platform.program(ada), await platform.program(grace)]
  const begin = async (program: typeof first, stamp: string) => {
    const files = build(stamp)
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    for (const wanted of body.uploads) await upload(platform, wanted, files)
    return body.deployId as string
  }
  const finalize = (program: typeof first, deployId: string, query = '') =>
    program.post(`/api/deploy/${deployId}/finalize${query}`)
  return { platform, game, ada, grace, first, second, begin, finalize }
}

t.test('who finalizes later is told whose deploy was faster, and the other who replaced it', async (t) => {
  const { platform, game, ada, grace, first, second, begin, finalize } = await withTwoMakers(t)
  const { clock } = platform
  const [adas, graces] = [await begin(first, 'ada'), await begin(second, 'grace')]
  const wentLive = clock.now().toISOString()
  const { body: fast } = await finalize(first, adas)
  t.notOk(fast.replaced ?? fast.replacedBy ?? fast.undoes, 'nothing was live')
  t.match((await first.get(`/api/deploy/${adas}`)).body, { by: { name: 'Ada' }, replacedBy: null })

  clock.advance(12_000)
  const late = await finalize(second, graces)
  const expected = { deployId: adas, player: { id: ada.id, name: 'Ada', imageUrl: String }, at: wentLive }
  t.match(late.body.replaced, expected)
  t.same((await finalize(second, graces)).body, late.body, 'and again, when the answer was lost')
  const replacedBy = { deployId: graces, player: { id: grace.id, name: 'Grace' }, at: clock.now().toISOString() }
  t.match((await first.get(`/api/deploy/${adas}`)).body, { state: 'superseded', replacedBy })
  t.match((await first.get(`/api/games/${game.id}/deploys`)).body.deploys, [
    { id: graces, by: { name: 'Grace' }, replacedBy: null },
    { id: adas, by: { name: 'Ada' }, replacedBy },
  ])
  t.match((await finalize(first, adas)).body, { replacedBy }, 'also in a late answer')

  const third = (await deploy(platform, first, game.id, build('third'))).finalized.body
  t.notOk('replaced' in third, 'one that began after it was told nothing')
  const [open, preview] = [await begin(second, 'open'), await begin(second, 'preview')]
  clock.advance(1000)
  await deploy(platform, first, game.id, build('fourth'))
  const previewed = (await finalize(second, preview, '?preview=true')).body
  t.notOk('replaced' in previewed, 'a preview replaces nothing')
  t.match((await finalize(second, open)).body.replaced, { player: { name: 'Ada' } })
  t.match((await first.get(`/api/deploy/${preview}`)).body, { replacedBy: null })
})

t.test('a rollback says whose deploy it undoes', async (t) => {
  const { platform, game, ada, first, second } = await withTwoMakers(t)
  const { clock } = platform
  const { deployId: adas } = await deploy(platform, first, game.id, build('ada'))
  clock.advance(1000)
  const { deployId: graces } = await deploy(platform, second, game.id, build('grace'))
  const since = clock.now().toISOString()
  clock.advance(60_000)
  const back = await first.post(`/api/deploy/${adas}/rollback`)
  t.match(back.body.undoes, { deployId: graces, player: { name: 'Grace' }, at: since })
  t.notOk('undoes' in (await first.post(`/api/deploy/${adas}/rollback`)).body, 'the second call changes nothing')
  t.match((await second.get(`/api/deploy/${graces}`)).body.replacedBy, {
    deployId: adas,
    player: { id: ada.id },
    at: clock.now().toISOString(),
  })
  t.match((await second.get(`/api/deploy/${adas}`)).body, { state: 'live', replacedBy: null })
})

t.test('a rollback is by the maker who asks for it, whoever made the deploy', async (t) => {
  const { platform, game, ada, grace, first, second } = await withTwoMakers(t)
  const { clock } = platform
  const path = `/games/${game.slug}/deploys`
  const { deployId: earlier } = await deploy(platform, first, game.id, build('one'))
  clock.advance(1000)
  const { deployId: later } = await deploy(platform, first, game.id, build('two'))
  t.notMatch((await ada.get(path)).text, /replaced by/, 'their own deploy')
  clock.advance(12_000)
  t.equal((await second.post(`/api/deploy/${earlier}/rollback`)).status, 200)
  const replacedBy = { deployId: earlier, player: { id: grace.id, name: 'Grace' }, at: clock.now().toISOString() }
  t.match((await first.get(`/api/deploy/${later}`)).body, { state: 'superseded', by: { name: 'Ada' }, replacedBy })
  t.match((await ada.get(path)).text, /replaced by <bdi>Grace<\/bdi> after 12 s/)
})

t.test('the page of the deploys says who made each, and whose deploy a step ended', async (t) => {
  const { platform, game, ada, grace, first, second, begin } = await withTwoMakers(t)
  const { clock } = platform
  const path = `/games/${game.slug}/deploys`
  const adas = (await deploy(platform, first, game.id, build('ada'), 'The yard')).deployId
  clock.advance(12_000)
  const graces = (await deploy(platform, second, game.id, build('grace'), 'The fence')).deployId
  const { text } = await ada.get(path)
  t.match(text, /<bdi>Ada<\/bdi>[\s\S]*replaced by <bdi>Grace<\/bdi> after 12 s/)
  t.match(text, /This replaces the deploy of <bdi>Grace<\/bdi>: <bdi>The fence<\/bdi>\./, 'before a rollback')
  t.notMatch((await grace.get(path)).text, /This replaces/, 'their own deploy is replaced with one press')
  const restored = await ada.submit(`${path}/${adas}/rollback`, {})
  t.equal(restored.headers.location, `${path}?restored=${graces}`)
  t.match((await ada.get(restored.headers.location ?? '')).text, /It replaced the deploy of <bdi>Grace<\/bdi>/)
  t.match(await ada.get(`${path}?restored=dep_01ARZ3NDEKTSV4RRFFQ69G5FAV`), { status: 200, text: /is live again/ })

  const open = await begin(second, 'open')
  clock.advance(1000)
  await deploy(platform, first, game.id, build('new'))
  const { body } = await second.post(`/api/deploy/${open}/finalize`)
  const published = `${path}?published=0&replaced=${body.replaced.deployId}`
  t.match((await grace.get(published)).text, /It replaced the deploy of <bdi>Ada<\/bdi>, which went live while yours/)
})

t.test('the deploys and their answers outlive the accounts', async (t) => {
  const { platform, game, grace, first, second, begin, finalize } = await withTwoMakers(t)
  const adas = await begin(first, 'ada')
  platform.clock.advance(1000)
  const { deployId } = await deploy(platform, second, game.id, build('grace'))
  await platform.app.identity.deletion.remove(grace.id)
  t.match((await finalize(first, adas)).body.replaced, { deployId, player: null })
  t.match((await first.get(`/api/deploy/${deployId}`)).body, { by: null, replacedBy: { deployId: adas } })
})

/** Finalizes two deploys at the same moment over sockets, again and again. */
async function race(t: Test, options: Parameters<typeof startPlatform>[1] = {}) {
  const { platform, game, first, second, begin } = await withTwoMakers(t, { ...options, listen: true })
  const finalize = async (program: typeof first, deployId: string) => {
    const answer = await fetch(`${platform.portal}/api/deploy/${deployId}/finalize`, {
      method: 'POST',
      headers: { authorization: `Bearer ${program.token}` },
    })
    t.equal(answer.status, 200)
    return (await answer.json()) as { replaced?: { deployId: string }; replacedBy?: { deployId: string } }
  }
  for (let round = 0; round < ROUNDS; round++) {
    const ids = [await begin(first, `ada ${round}`), await begin(second, `grace ${round}`)] as const
    const answers = await Promise.all([finalize(first, ids[0]), finalize(second, ids[1])])
    const { liveDeployId } = await platform.app.games.get(game.id)
    const last = ids.indexOf(liveDeployId as string)
    t.not(last, -1, `one of both is live in round ${round}`)
    const [winner, other] = [answers[last], answers[1 - last]]
    t.equal(winner?.replaced?.deployId, ids[1 - last], 'the later one has replaced the earlier one')
    t.notOk(winner?.replacedBy)
    t.notOk(other?.replaced, 'the earlier one was first')
    if (other?.replacedBy) t.equal(other.replacedBy.deployId, ids[last], 'its answer came late')
    const { body } = await first.get(`/api/deploy/${ids[1 - last]}`)
    t.match(body, { state: 'superseded', replacedBy: { deployId: ids[last] } })
    t.ok(body.replacedBy.at >= body.liveAt)
  }
}

t.test('two deploys that are finalized at once have one order', (t) => race(t))

t.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const postgres = await startPostgres()
  const database = { driver: 'postgres', url: await postgres.database() }
  await race(t, { config: { database, secret: 'x'.repeat(40) } })
})
