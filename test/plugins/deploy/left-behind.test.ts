// Tests that deploys whose bytes only a dead process had are ended at the start of their node.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { build, filesOf, manifestBytes } from './build.ts'

const usedBy = async (player: {
  get(path: string): Promise<{ body: { quotas: { storageBytesPerPlayer: { used: number } } } }>
}) => (await player.get('/api/usage')).body.quotas.storageBytesPerPlayer.used

t.test('a deploy that a crash has cut fails, and no longer counts', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const { deploys, config } = platform.app
  const files = filesOf(build('cut'))
  const begun = Promise.withResolvers<string>()
  // The process dies in the middle of this.
  void deploys.unresumable.run(async (deployId) => {
    await deploys.begin(player.id, { gameId: game.id, files }, deployId)
    begun.resolve(deployId)
    await new Promise(() => {})
  })
  const cut = await begun.promise
  const { deployId: resumable } = await deploys.start(player.id, { gameId: game.id, files: filesOf(build('other')) })
  const { deployId: others } = await deploys.start(player.id, { gameId: game.id, files: filesOf(build('third')) })
  const folder = join(config.dataDir, 'deploys')
  const alive = `p${process.ppid}-${others}`
  await writeFile(join(folder, alive), '')
  // It died before the deploy was in the database.
  await writeFile(join(folder, 'p999999999-dep_01jd3v8k9m0000000000000000'), '')
  const before = await usedBy(player)

  t.equal(await deploys.unresumable.endLeftBehind(), 2)
  const [failed] = (await deploys.list(player.id, game.id, { limit: 5 })).deploys.filter(({ id }) => id === cut)
  t.match(failed, { state: 'failed', failure: /The server stopped/ })
  for (const id of [resumable, others]) t.equal((await deploys.get(player.id, id)).state, 'uploading')
  t.same(await readdir(folder), [alive], 'the process that lives goes on')
  const bytes = files.reduce((sum, { size }) => sum + size, manifestBytes(build('cut')))
  t.equal(await usedBy(player), before - bytes)
})

t.test('a start empties the folder of copies', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gameyard-left-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  const copies = join(dataDir, 'copies')
  await mkdir(join(copies, 'p999999999-x-y'), { recursive: true })
  for (const name of ['p999999999-x-y/gameyard.db', 'p999999999-x', `p${process.ppid}-x`])
    await writeFile(join(copies, name), 'password hashes')
  await startPlatform(t, { config: { dataDir } })
  t.same(await readdir(copies), [`p${process.ppid}-x`])
})

t.test('a deploy that nobody else can continue leaves no note, however it ends', async (t) => {
  const platform = await startPlatform(t)
  const { deploys, config } = platform.app
  t.equal(await deploys.unresumable.run(async () => 'done'), 'done')
  await t.rejects(
    deploys.unresumable.run(async () => {
      throw new Error('broken')
    }),
    /broken/,
  )
  t.same(await readdir(join(config.dataDir, 'deploys')), [])
})
