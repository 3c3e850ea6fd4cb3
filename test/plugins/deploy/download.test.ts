import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { Archive } from '../../../core/data/zip/zip-archive.ts'
import { archiveOf } from '../../../plugins/deploy/zip/download.ts'
import { startPlatform } from '../../kit/platform.ts'
import { type Build, deploy, filesOf, upload } from './build.ts'

const ROOM = 'export const open = (room) => room.log(1)'
const BUILD: Build = {
  'index.html': '<title>Pong</title>',
  'js/größe.js': 'size()',
  'empty.txt': '',
  // Read twice, since its checksum comes before its bytes.
  'large.bin': 'x'.repeat(9 * 1024 ** 2),
  'room.js': ROOM,
}

t.test('a maker downloads all files of a deploy', async (t) => {
  const platform = await startPlatform(t)
  const ada = await platform.signUp()
  const game = await platform.game(ada)
  const program = await platform.program(ada)
  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(BUILD), room: 'room.js' })
  const { deployId } = begun.body
  const address = (of = deployId) => `/api/games/${game.slug}/deploys/${of}/archive`
  t.match(await program.get(address()), { status: 409, body: { error: { message: /uploading/ } } })
  for (const wanted of begun.body.uploads) await upload(platform, wanted, BUILD)
  await program.post(`/api/deploy/${deployId}/finalize`)

  const { host } = new URL(platform.portal)
  const answer = await platform.app.inject({
    url: address(),
    headers: { host, authorization: `Bearer ${program.token}` },
  })
  const { headers, rawPayload: bytes } = answer
  t.equal(answer.statusCode, 200)
  t.match(headers, {
    'content-type': 'application/zip',
    'content-disposition': /^attachment; filename="pong-\w+\.zip"$/,
  })
  t.equal(Number(headers['content-length']), bytes.length)
  const file = join(t.testdir(), 'pong.zip')
  writeFileSync(file, bytes)
  const archive = await Archive.open(file)
  t.teardown(() => archive.close())
  const texts = new Map<string, string>()
  for (const file of await archive.files({ most: 100, isJunkFile: () => false })) {
    texts.set(file.path, (await buffer(archive.read(file))).toString())
  }
  for (const [path, content] of Object.entries(BUILD)) t.ok(texts.get(path) === content, path)
  const project = JSON.parse(texts.get('gameyard.json') ?? '')
  t.same(project, { gameId: game.id, folder: '.', baseUrl: platform.portal, room: 'room.js' })
  t.equal(texts.size, Object.keys(BUILD).length + 1)
  const tested = spawnSync('python3', ['-m', 'zipfile', '-t', file], { encoding: 'utf8' })
  if (!tested.error) t.match(tested, { status: 0, stdout: /Done testing/ }, 'another program reads it')

  t.match((await ada.get(`/games/${game.slug}/deploys`)).text, `/api/games/${game.id}/deploys/${deployId}/archive`)
  const eve = await platform.signUp()
  t.equal((await (await platform.program(eve)).get(address())).status, 404)
  t.equal((await platform.stranger.get(address())).status, 401)
  const other = await platform.game(ada, { title: 'Other' })
  const ofOther = await deploy(platform, program, other.id, { 'index.html': 'x' })
  t.equal((await program.get(address(ofOther.deployId))).status, 404, 'a deploy of another game')
})

t.test('an archive of too many files is refused', (t) => {
  const file = { path: 'a', size: 1, open: async () => t.fail('nothing is read') as never }
  t.throws(() => archiveOf(Array(65_536).fill(file)), { code: 'payload_too_large' })
  t.throws(() => archiveOf([{ ...file, size: 2 ** 32 }]), { code: 'payload_too_large' })
  t.end()
})
