import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { inFull } from '../../kit/extent.ts'
import { ask } from '../../kit/upload.ts'
import { blenderModels } from '../../plugins/assets/blender.ts'
import { libraryOf } from '../../plugins/assets/models.ts'
import { machine, startTestServer } from './kit.ts'

const PICTURE = readFileSync(join(import.meta.dirname, '../../fixtures/media/picture.png'))

t.test('assets are uploaded, found, fetched whole or not at all, published and removed', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const token = await platform.token(['assets:read', 'assets:write', 'games:write'])
  const { gameyard, json, cwd } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  writeFileSync(join(cwd, 'Red Knight.png'), PICTURE)
  const game = await json('games', 'create', '--title', 'Castle', '--description', '')
  const made = await json(
    'assets',
    'upload',
    'Red Knight.png',
    '--license',
    'CC0-1.0',
    '--tag',
    'red',
    '--tag',
    'knight',
  )
  t.match(made, { slug: 'red-knight', title: 'Red Knight', kind: 'image', license: 'CC0-1.0', tags: ['red', 'knight'] })
  t.match(await gameyard('assets', 'list', '--mine', '--search', 'knight'), {
    stdout: /\nred-knight +Red Knight +image/,
  })
  t.match(await gameyard('assets', 'get', 'red-knight'), { stdout: /^Red Knight\n {2}Id +ast_/ })
  t.match(await json('assets', 'get', 'red-knight', '--manifest'), { url: String, files: [{}] })

  const changed = await json(
    'assets',
    'update',
    made.id,
    '--license',
    'cc by 4.0',
    '--author',
    'Kit',
    '--title',
    'Rook',
  )
  t.match(changed, { title: 'Rook', slug: 'red-knight', license: 'CC-BY-4.0', author: 'Kit', tags: ['red', 'knight'] })
  t.match((await json('assets', 'list', '--mine', '--license', 'cc-by 4.0')).assets, [{ id: made.id }])
  t.same((await json('assets', 'list', '--mine', '--license', 'MIT')).assets, [])
  t.match(await gameyard('assets', 'update', made.id, '--author', '', '--title', 'Red Knight'), {
    stdout: /^Red Knight\n(?![\s\S]*Author)[\s\S]*License +CC-BY-4.0/,
  })
  t.match(await gameyard('assets', 'update', made.id), { code: 2, stderr: /Nothing to change/ })

  t.match(await gameyard('assets', 'download', 'red-knight'), { code: 0, stdout: /^Saved red-knight\.png \(/ })
  t.same(readFileSync(join(cwd, 'red-knight.png')), PICTURE)
  t.match(await json('assets', 'download', made.id, '-o', 'copy.png'), { file: 'copy.png', bytes: PICTURE.length })
  const address = `${portal}/api/assets/red-knight/file`
  t.equal((await ask('GET', address)).status, 404)
  t.match(await gameyard('assets', 'publish', 'red-knight'), { stdout: 'Red Knight is public now.\n' })
  t.equal((await ask('GET', address)).status, 200)

  t.match(await gameyard('assets', 'move', 'red-knight'), { code: 2, stderr: /--game GAME, or --out/ })
  t.match(await gameyard('assets', 'move', 'red-knight', '--game', 'nowhere'), { code: 1, stderr: /no such game/ })
  t.match(await gameyard('assets', 'move', 'red-knight', '--game', game.slug), {
    stdout: `Red Knight is in the game ${game.slug} now.\n`,
  })
  const second = await json('assets', 'upload', 'Red Knight.png', '--title', 'Shield', '--game', game.slug)
  t.match(second, { gameId: game.id })
  t.match(await gameyard('assets', 'list', '--game', game.slug), { stdout: /\nshield .*\nred-knight / })
  t.match(await json('assets', 'update', 'red-knight', '--author', 'Kit'), { attribution: /by Kit/ })
  const attribution = await gameyard('assets', 'attribution', 'red-knight', '--game', game.slug)
  t.match(attribution, { code: 0, stderr: 'Neither license nor author is given: shield\n' })
  t.match(attribution.stdout, new RegExp(`^“Red Knight” by Kit, \\S+, ${portal}/assets/red-knight\n$`), 'once')
  t.match(await gameyard('assets', 'attribution'), { code: 2, stderr: /Name assets, or a game/ })
  t.match(await gameyard('assets', 'move', 'red-knight', '--out'), { stdout: 'Red Knight is in no game now.\n' })
  t.match((await json('assets', 'list', '--game', game.slug)).assets, [{ slug: 'shield' }])
  t.match(await gameyard('assets', 'delete', 'red-knight'), { code: 0 })
  t.match(await json('assets', 'get', 'red-knight'), {
    error: { code: 'not_found', hint: /gameyard assets list --mine$/ },
  })
})

inFull(t)?.test(
  'an asset is public from the start if one wants, and is saved to no folder that is absent',
  async (t) => {
    const platform = await startTestServer(t)
    const { portal } = platform.server
    const token = await platform.token(['assets:read', 'assets:write'])
    const { gameyard, json, cwd } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
    writeFileSync(join(cwd, 'Red Knight.png'), PICTURE)
    const shared = await json('assets', 'upload', 'Red Knight.png', '--title', 'Shared', '--public')
    t.match(shared, { visibility: 'public' })
    t.equal((await ask('GET', `${portal}/api/assets/${shared.id}/file`)).status, 200, 'by anybody, from the start')
    t.match(await gameyard('assets', 'download', shared.id, '-o', 'no/where.png'), {
      code: 1,
      stderr: /no\/where\.png was not saved: it does not exist\.\n {2}Nothing of it was kept/,
    })
    t.match(await json('assets', 'upload', 'Red Knight.png', '--private'), { visibility: 'private' })
    t.match(await gameyard('assets', 'upload', 'Red Knight.png', '--public', '--visibility', 'private'), {
      code: 2,
      stderr: /--public.*--visibility/,
    })
  },
)

t.test('what is no asset is refused, and a typo is suggested for', async (t) => {
  const platform = await startTestServer(t)
  const token = await platform.token(['assets:read', 'assets:write'])
  const { gameyard, cwd } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: platform.server.portal })
  writeFileSync(join(cwd, 'broken.glb'), 'glTF, or so it says')
  t.match(await gameyard('assets', 'upload', 'broken.glb'), { code: 1, stderr: /glTF/ })
  t.match(await gameyard('assets', 'animate', 'x', 'wlk'), {
    code: 2,
    stderr: /There is no clip wlk\.\n {2}Did you mean walk\?/,
  })
  await inFull(t)?.test('and so is what names no file and no clip', async (t) => {
    t.match(await gameyard('assets', 'upload', 'nothing.glb'), { code: 2, stderr: /it does not exist/ })
    t.match(await gameyard('assets', 'upload', '.'), {
      code: 2,
      stderr: /\. is no file\.\n.*A pack is uploaded as a ZIP archive/,
    })
    const half = await gameyard('assets', 'animate', 'x', '--from', 'moves')
    t.match(half, { code: 2, stderr: /--from ASSET --clip NAME/ })
    t.match(await gameyard('assets', 'animate', 'x'), { code: 2, stderr: /There are: idle, walk/ })
  })
  t.ok(statSync(join(cwd, 'broken.glb')).isFile())
})

t.test('a figure is given a clip of a library, which is taken off again', async (t) => {
  const models = blenderModels(t, ['mixamo', 'unreal'])
  if (!models) return
  const platform = await startTestServer(t)
  const token = await platform.token(['assets:read', 'assets:write'])
  const { gameyard, cwd, json } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: platform.server.portal })
  writeFileSync(join(cwd, 'knight.glb'), models.get('unreal') as Buffer)
  writeFileSync(join(cwd, 'dancer.glb'), models.get('mixamo') as Buffer)
  for (const name of ['knight', 'dancer']) t.match(await json('assets', 'upload', `${name}.glb`), { slug: name })
  t.match(await gameyard('assets', 'animate', 'dancer', 'walk', '-o', 'walk.glb'), { code: 0 })
  const library = await libraryOf(readFileSync(join(cwd, 'walk.glb')), { walk: 'Walking_A' })
  writeFileSync(join(cwd, 'moves.glb'), library)
  t.match(await json('assets', 'upload', 'moves.glb'), { kind: 'animation', animations: ['Walking_A'] })
  t.match(await gameyard('assets', 'animate', 'knight', '--from', 'moves', '--clip', 'Walking_A'), {
    code: 0,
    stdout: /^Saved knight-Walking_A\.glb \(/,
  })
  t.match(readFileSync(join(cwd, 'knight-Walking_A.glb'), 'latin1'), /^glTF/)
  const off = ['assets', 'animate', 'knight', '--from', 'moves', '--clip', 'Walking_A', '--remove']
  t.match(await gameyard(...off), { code: 0, stdout: 'Walking_A is off knight.\n' })
  await inFull(t)?.test('a clip that is not there is refused', async (t) => {
    t.match(await gameyard(...off), { code: 1, stderr: /There is no such animation/ })
    t.match(await gameyard('assets', 'animate', 'knight', '--from', 'moves', '--clip', 'Flying'), {
      code: 1,
      stderr: /There is no such clip[\s\S]*Walking_A/,
    })
  })
})
