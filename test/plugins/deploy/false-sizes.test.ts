// Tests that the size of a file is that of its stored bytes, whatever a client says who has them already.
import t from 'tap'
import { ManifestRow } from '../../../plugins/deploy/entities.ts'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy, filesOf, sha256 } from './build.ts'

const LARGE = 'x'.repeat(300_000)
const FILES = { ...build('honest'), 'large.bin': LARGE }
const lie = (size: number) => filesOf(FILES).map((file) => (file.path === 'large.bin' ? { ...file, size } : file))

async function withGame(t: Parameters<typeof startPlatform>[0]) {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  return { platform, app: platform.app, player, game, program: await platform.program(player) }
}

t.test('a file that its owner has is announced with its own size, also in another game', async (t) => {
  const { platform, player, game, program } = await withGame(t)
  await deploy(platform, program, game.id, FILES)
  const other = await platform.game(player, { title: 'Other' })
  for (const gameId of [game.id, other.id]) {
    for (const size of [51, 300_001, 0]) {
      const { status, body } = await program.post('/api/deploy', { gameId, files: lie(size) })
      t.match(
        { status, body },
        { status: 400, body: { error: { code: 'invalid_request', details: [{ path: 'large.bin' }] } } },
      )
      t.match(body.error.message, `large.bin has 300000 bytes and not ${size}`)
    }
    const { status, body } = await program.post('/api/deploy', { gameId, files: filesOf(FILES) })
    t.match({ status, body }, { status: 200, body: { uploads: [] } })
  }
})

t.test('a false size that was announced before the file became the owner\u2019s is found at the end', async (t) => {
  const { platform, app, player, game, program } = await withGame(t)
  const early = await app.deploys.begin(player.id, { gameId: game.id, files: lie(51) })
  await deploy(platform, program, game.id, FILES)
  const answer = await program.post(`/api/deploy/${early.deployId}/finalize`)
  t.match(answer, { status: 409, body: { error: { code: 'incomplete_deploy', details: [{ path: 'large.bin' }] } } })
})

t.test('whatever opens a file reads no more than its size', async (t) => {
  const { platform, app, game, program } = await withGame(t)
  const { deployId } = await deploy(platform, program, game.id, FILES)
  // A false size of the time before it was checked.
  const lines = lie(51).map(({ path, sha256, size }) => [path, sha256, size])
  await app.db.em().nativeUpdate(ManifestRow, { deployId }, { files: JSON.stringify(lines) })
  app.deploys.manifests.forget(deployId)
  let read = 0
  const get = app.storage.get.bind(app.storage)
  app.storage.get = async (key, range) => {
    const stream = await get(key, range)
    stream.on('data', (chunk: Buffer) => {
      read += chunk.length
    })
    return stream.pause()
  }
  const bytes = await Array.fromAsync(await app.deploys.openBlob({ sha256: sha256(LARGE), size: 51 }))
  t.equal(Buffer.concat(bytes).length, 51)
  t.equal(read, 51)
  read = 0
  const answer = await platform.stranger.get('/large.bin', { host: platform.gameHost(game.slug) })
  t.equal(answer.text.length, 51)
  t.equal(read, 51)
  t.equal((await Array.fromAsync(await app.deploys.openBlob({ sha256: sha256(LARGE), size: 0 }))).length, 0)
})
