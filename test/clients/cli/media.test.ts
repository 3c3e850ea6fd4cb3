// `gameyard games media`: the pictures and videos of a game.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { png } from '../../plugins/games/pictures.ts'
import { machine, startTestServer } from './kit.ts'

t.test('pictures are added, one is the cover, and they are removed', async (t) => {
  const platform = await startTestServer(t)
  const token = await platform.token(['games:read', 'games:write'])
  const { gameyard, json, cwd } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: platform.server.portal })
  for (const [name, width] of Object.entries({ 'cover.png': 64, 'level 1.png': 32, 'level 2.png': 16 }))
    writeFileSync(join(cwd, name), png(width, 8))
  writeFileSync(join(cwd, 'text.png'), 'no picture')
  const game = await json('games', 'create', '--title', 'Castle', '--description', '')
  const of = ['--game', game.slug]
  t.match(await gameyard('games', 'media', 'list', ...of), { stdout: /no pictures. Add one: gameyard games media add/ })

  const added = await json('games', 'media', 'add', 'level 1.png', 'level 2.png', ...of)
  t.match(added, { media: [{ id: /^med_/, kind: 'image', width: 32 }, { width: 16 }], coverMediaId: null })
  const [first, second] = added.media
  t.match(await json('games', 'media', 'list', ...of), { media: [first, second], coverUrl: first.url })
  const cover = await gameyard('games', 'media', 'add', 'cover.png', '--cover', ...of)
  t.match(cover, { code: 0, stdout: /^Added med_\w+, the cover: http/ })
  writeFileSync(join(cwd, 'clip.webm'), readFileSync(join(import.meta.dirname, '../../fixtures/media/clip.webm')))
  const clip = await gameyard('games', 'media', 'add', 'clip.webm', '--cover', ...of)
  t.match(clip, { code: 0, stderr: /None of these is a picture/, stdout: /^Added med_\w+: http/ })
  await gameyard('games', 'media', 'remove', /med_\w+/.exec(clip.stdout)?.[0] ?? '', ...of)
  t.match(await gameyard('games', 'media', 'list', ...of), { stdout: /image +64 × 8 +cover +http/ })
  t.match(await gameyard('games', 'media', 'cover', second.id, ...of), {
    stdout: `The cover of Castle is ${second.url} now.\n`,
  })
  t.match(await json('games', 'media', 'cover', 'none', ...of), { coverUrl: first.url })
  t.match(await gameyard('games', 'media', 'remove', first.id, ...of), { stdout: `Removed ${first.id} from Castle.\n` })
  t.match(await json('games', 'media', 'list', ...of), { media: [{ id: second.id }, { width: 64 }] })

  t.match(await gameyard('games', 'media', 'add', 'cover.png', 'absent.png', ...of), {
    code: 2,
    stderr: /absent.png can't be uploaded/,
  })
  t.match(await gameyard('games', 'media', 'add', 'text.png', ...of), { code: 1, stderr: /PNG/ })
  const half = await gameyard('games', 'media', 'add', 'cover.png', 'text.png', 'level 1.png', ...of)
  t.match(half, { code: 1, stderr: /^Added med_\w+: cover\.png\nNot added: text\.png, level 1\.png\n.*PNG/ })
  await gameyard('games', 'media', 'remove', /med_\w+/.exec(half.stderr)?.[0] ?? '', ...of)
  t.match(await gameyard('games', 'media', 'add', '.', ...of), { code: 2, stderr: /\. is no file/ })
  t.match(await gameyard('games', 'media', 'cover', 'med_x', ...of), { code: 1, stderr: /one of the pictures/ })
  t.match(await gameyard('games', 'media', 'remove', 'med_x', ...of), { code: 1 })
  t.equal((await json('games', 'media', 'list', ...of)).media.length, 2, 'and nothing was added by half')
})
