import t from 'tap'
import { DeployRow } from '../../../plugins/deploy/entities.ts'
import { startPlatform } from '../../kit/platform.ts'
import { type Build, build, deploy, filesOf, type Upload, upload } from './build.ts'
import { PLAIN, THREADED } from './wasm.ts'

const threaded = (stamp: string): Build => ({ ...build(stamp), 'game.wasm': THREADED })
const plain = (stamp: string): Build => ({ ...build(stamp), 'game.wasm': PLAIN })

// All games are of one platform.
const platform = await startPlatform(t)
const player = await platform.signUp()
const program = await platform.program(player)

async function withGame(settings = {}) {
  const game = await platform.game(player, { settings })
  /** Whether an address is served isolated, by its headers. */
  const isIsolated = async (url: string) => {
    const { headers } = await platform.stranger.get('/js/0.js', { host: new URL(url).host })
    return headers['cross-origin-embedder-policy'] === 'require-corp'
  }
  return { game, isIsolated }
}

t.test('a build with shared memory is isolated, one without is not, and a rollback has its own', async (t) => {
  const { game, isIsolated } = await withGame()
  t.equal(game.settings.crossOriginIsolated, 'auto', 'a new game')
  const first = await deploy(platform, program, game.id, threaded('one'))
  t.match(first.finalized.body.isolation, { on: true, reason: /^game\.wasm uses shared memory/ })
  t.equal(await isIsolated(game.url), true)
  t.match((await program.get(`/api/games/${game.id}`)).body, { isolated: true })
  const page = await platform.stranger.get(`/games/${game.slug}`)
  t.equal(page.headers['cross-origin-embedder-policy'], 'require-corp', 'the play page, too')

  const second = await deploy(platform, program, game.id, plain('two'))
  t.match(second.finalized.body.isolation, { on: false, reason: 'No .wasm file uses shared memory.' })
  t.equal(await isIsolated(game.url), false)
  t.match((await program.get(`/api/games/${game.id}`)).body, { isolated: false })
  t.equal((await platform.stranger.get(`/games/${game.slug}`)).headers['cross-origin-embedder-policy'], undefined)
  t.match((await program.get(`/api/deploy/${first.deployId}`)).body, { isolation: { on: true } })

  const back = await program.post(`/api/deploy/${first.deployId}/rollback`)
  t.match(back.body.isolation, { on: true })
  t.equal(await isIsolated(game.url), true)
  t.match((await player.get(`/games/${game.slug}/settings`)).text, /value="auto"[^>]*checked|checked[^>]*value="auto"/)
})

t.test('a preview has its own isolation', async (t) => {
  const { game, isIsolated } = await withGame()
  await deploy(platform, program, game.id, plain('live'))
  const files = threaded('preview')
  const started = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
  t.equal(
    (await program.get(`/api/deploy/${started.body.deployId}`)).body.isolation,
    null,
    'unknown before it is whole',
  )
  for (const wanted of started.body.uploads as Upload[]) await upload(platform, wanted, files)
  const { body } = await program.post(`/api/deploy/${started.body.deployId}/finalize?preview=true`)
  t.match(body.isolation, { on: true })
  t.equal(await isIsolated(body.previewUrl), true)
  t.equal(await isIsolated(game.url), false)
})

t.test('the setting of the game decides where it is not automatic', async (t) => {
  const { game, isIsolated } = await withGame({ crossOriginIsolated: false })
  const { finalized } = await deploy(platform, program, game.id, threaded('one'))
  t.match(finalized.body.isolation, { on: false, reason: /is off, but game\.wasm uses shared memory and will not run/ })
  t.match(finalized.body.build, {
    engine: null,
    notes: [{ level: 'warning', code: 'not_isolated', path: 'game.wasm' }],
  })
  t.equal(await isIsolated(game.url), false)
  for (const [setting, on] of [
    ['auto', true],
    [false, false],
    [true, true],
  ] as const) {
    t.equal((await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: setting } })).status, 200)
    t.equal(await isIsolated(game.url), on, String(setting))
  }
  const other = await deploy(platform, program, game.id, plain('two'))
  t.match(other.finalized.body.isolation, { on: true, reason: "The game's setting is on." })
  t.same(other.finalized.body.build, { engine: null, notes: [] })
  t.equal((await program.patch(`/api/games/${game.id}`, { settings: { crossOriginIsolated: 'always' } })).status, 400)
})

t.test('a deploy from before builds were examined is examined when it goes live again', async (t) => {
  const { game, isIsolated } = await withGame()
  const { deployId } = await deploy(platform, program, game.id, threaded('old'))
  await deploy(platform, program, game.id, plain('new'))
  await platform.app.db.em().nativeUpdate(DeployRow, { id: deployId }, { build: null })
  t.match((await program.get(`/api/deploy/${deployId}`)).body.isolation, { on: false, reason: /was not examined/ })
  t.match((await program.post(`/api/deploy/${deployId}/rollback`)).body.isolation, { on: true })
  t.equal(await isIsolated(game.url), true)
})
