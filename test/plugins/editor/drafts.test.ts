// Drafts: files are changed one by one on the server, and published by an ordinary deploy.
import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import type { Client, Platform } from '../../kit/platform.ts'
import { PASSWORD, startPlatform } from '../../kit/platform.ts'
import { type Build, deploy, liveBuild } from '../deploy/build.ts'

const BUILD: Build = {
  'index.html': '<title>Pong</title>',
  'js/game.js': 'start()',
  'art/a.png': Buffer.from([1, 2, 3]),
}

const shared = startPlatform(t)

/** Makes a game with a build. Without an own platform, tests share one. */
async function withGame(own?: Promise<Platform>) {
  const platform = await (own ?? shared)
  const owner = await platform.signUp({ name: 'Ada' })
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  const { deployId } = await deploy(platform, program, game.id, BUILD)
  const path = `/api/games/${game.id}/draft`
  const fileAt = (name: string) => `${path}/files/${encodeURIComponent(name)}`
  const save = (name: string, text: string | Buffer, headers: Record<string, string> = {}) =>
    owner.put(fileAt(name), Buffer.from(text), { headers: { 'content-type': 'text/plain', ...headers } })
  return { platform, owner, program, game, deployId, path, fileAt, save }
}

const totalOf = async (client: Client) => {
  const { body } = await client.get('/api/usage')
  return body.kinds.find(({ kind }: { kind: string }) => kind === 'drafts')?.bytes ?? 0
}

const isKept = async ({ app }: Platform, sha256: string) =>
  (await app.storage.head(app.deploys.blobKey(sha256))) !== null

t.test('a draft has the files of the live deploy, with what was saved, renamed and removed', async (t) => {
  const { owner, path, fileAt, save, deployId } = await withGame()
  t.match((await owner.get(path)).body, {
    revision: 0,
    baseDeployId: deployId,
    changed: false,
    outdated: false,
    removed: [],
    updatedBy: null,
    files: [
      { path: 'art/a.png', size: 3, contentType: 'image/png', revision: 0, change: null },
      { path: 'index.html' },
      { path: 'js/game.js' },
    ],
  })
  t.match(await save('js/game.js', 'start(2)', { 'if-match': '"0"' }), { status: 200, body: { revision: 1, size: 8 } })
  t.match(await save('js/new.js', 'hello', { 'if-none-match': '*' }), { status: 200, body: { revision: 2 } })
  t.match((await owner.delete(fileAt('art/a.png'))).body, { revision: 3 })
  t.match((await owner.post(`${path}/rename`, { from: 'js', to: 'src' })).body, { revision: 4 })
  const { body } = await owner.get(path)
  t.match(body, { revision: 4, changed: true, removed: ['art/a.png', 'js/game.js'], updatedBy: { name: 'Ada' } })
  t.same(
    body.files.map(({ path, change }: { path: string; change: string }) => [path, change]),
    [
      ['index.html', null],
      ['src/game.js', 'added'],
      ['src/new.js', 'added'],
    ],
  )
  t.match(await owner.get(fileAt('src/game.js')), {
    text: 'start(2)',
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-draft-revision': '4' },
  })
  t.match(await owner.get(fileAt('index.html')), { headers: { 'content-type': 'text/plain; charset=utf-8' } })
  t.equal((await owner.get(fileAt('js/game.js'))).status, 404)
  t.match((await owner.get(`/api/games/${body.gameId}/diff`)).body.files, [
    { path: 'art/a.png', change: 'removed', before: { size: 3, text: null }, after: null },
    { path: 'js/game.js', change: 'removed', before: { text: 'start()' } },
    { path: 'src/game.js', change: 'added', before: null, after: { text: 'start(2)' } },
    { path: 'src/new.js', change: 'added' },
  ])
  t.equal((await owner.delete(path)).status, 204)
  t.match((await owner.get(path)).body, { changed: false, removed: [], files: { length: 3 } })
})

t.test('a part of a file is sent, since players of sounds and videos ask for parts', async (t) => {
  const { owner, fileAt, save } = await withGame()
  await save('art/bleep.wav', 'RIFF0123456789')
  const part = (range: string) => owner.get(fileAt('art/bleep.wav'), { headers: { range } })
  t.match(await owner.get(fileAt('art/bleep.wav')), {
    status: 200,
    text: 'RIFF0123456789',
    headers: { 'accept-ranges': 'bytes', 'content-length': '14', 'content-type': 'audio/wav' },
  })
  t.match(await part('bytes=4-6'), { status: 206, text: '012', headers: { 'content-range': 'bytes 4-6/14' } })
  t.match(await part('bytes=20-'), { status: 416, headers: { 'content-range': 'bytes */14' } })
  const { headers } = await owner.get(fileAt('art/bleep.wav'))
  const again = await owner.get(fileAt('art/bleep.wav'), { headers: { 'if-none-match': String(headers.etag) } })
  t.match(again, { status: 304, text: '', headers: { 'x-draft-revision': '1' } })
})

t.test('whoever saves over a change that they have not seen is told who made it and when', async (t) => {
  const { owner, save, fileAt, path } = await withGame()
  await save('js/game.js', 'first', { 'if-match': '"0"' })
  const conflict = { status: 409, body: { error: { code: 'draft_conflict' }, revision: 1, updatedBy: owner.id } }
  t.match(await save('js/game.js', 'second', { 'if-match': '"0"' }), conflict)
  t.match(await owner.delete(fileAt('js/game.js'), { headers: { 'if-match': '"0"' } }), conflict)
  t.match(await save('js/game.js', 'third', { 'if-none-match': '*' }), conflict)
  t.equal((await owner.get(fileAt('js/game.js'))).text, 'first')
  t.match(await save('js/game.js', 'fourth', { 'if-match': '"1"' }), { body: { revision: 2 } })
  t.match(await save('js/game.js', 'fourth', { 'if-match': '"2"' }), { body: { revision: 2 } }, 'the same text again')
  t.match(await save('js/game.js', 'fourth', { 'if-match': '"1"' }), { body: { revision: 2 } }, 'its answer was lost')
  t.match(await save('js/game.js', 'x', { 'if-match': '2' }), { status: 400 })
  t.match(await owner.post(`${path}/rename`, { from: 'js/game.js', to: 'index.html' }), { status: 409 })
  const parallel = await Promise.all(['a', 'b', 'c'].map((text) => save('js/game.js', text, { 'if-match': '"2"' })))
  t.same(parallel.map(({ status }) => status).sort(), [200, 409, 409])
})

t.test('publishing makes an ordinary deploy without an upload, and ends the draft', async (t) => {
  const { platform, owner, path, save, fileAt, game, deployId } = await withGame()
  t.match(await owner.post(`${path}/publish`, {}), { status: 409, body: { error: { code: 'nothing_to_publish' } } })
  await save('js/game.js', 'start(3)')
  await save('data/level.json', '[]')
  await owner.delete(fileAt('art/a.png'))
  t.equal(await totalOf(owner), 10)
  const published = await owner.post(`${path}/publish`, { message: ' Faster ' })
  t.match(published, { status: 200, body: { url: String, deployId: /^dep_/ } })
  const files = { 'index.html': '<title>Pong</title>', 'js/game.js': 'start(3)', 'data/level.json': '[]' }
  t.same(await liveBuild(platform, game.id), files)
  t.match((await owner.get(`/api/games/${game.id}/deploys`)).body.deploys, [
    { message: 'Faster', state: 'live', unchanged: 1 },
    {},
  ])
  t.match((await owner.get(path)).body, { changed: false, baseDeployId: published.body.deployId, files: { length: 3 } })
  t.equal(await totalOf(owner), 0)
  const { body } = await owner.get(`/api/games/${game.id}/diff?from=${deployId}&to=${published.body.deployId}`)
  t.match(body.files, [{ path: 'art/a.png' }, { path: 'data/level.json' }, { path: 'js/game.js', change: 'changed' }])
})

t.test('a draft of an earlier deploy is brought to the live one before it is published', async (t) => {
  const { platform, program, owner, path, save, game } = await withGame()
  await save('js/game.js', 'mine')
  await deploy(platform, program, game.id, { ...BUILD, 'js/other.js': 'theirs' })
  t.match((await owner.get(path)).body, { outdated: true, files: { length: 3 } })
  t.match(await owner.post(`${path}/publish`, {}), { status: 409, body: { error: { code: 'draft_outdated' } } })
  t.match((await owner.post(`${path}/rebase`)).body, { outdated: false, changed: true, files: { length: 4 } })
  t.equal((await owner.post(`${path}/publish`, {})).status, 200)
  t.match(await liveBuild(platform, game.id), { 'js/game.js': 'mine', 'js/other.js': 'theirs' })
})

t.test('a refused draft stays, and so does the live deploy', async (t) => {
  const { platform, owner, path, save, fileAt, game } = await withGame(
    startPlatform(t, { config: { limits: { draftFiles: 2, draftFileBytes: 100 } } }),
  )
  await owner.delete(fileAt('index.html'))
  t.match(await owner.post(`${path}/publish`, {}), { status: 400, body: { error: { message: /index\.html/ } } })
  t.match((await owner.get(path)).body, { changed: true, removed: ['index.html'] })
  t.match(await liveBuild(platform, game.id), { 'index.html': '<title>Pong</title>' })
  for (const name of ['../a', 'a//b', '.env', 'mp/x', '__service/x'])
    t.match(await save(name, 'x'), { status: 400, body: { error: { code: 'invalid_request' } } }, name)
  t.equal((await save('big.txt', 'x'.repeat(101))).status, 413)
  await save('a.js', '1')
  t.match(await save('b.js', '2'), { status: 409, body: { error: { code: 'draft_full' } } })
  const stranger = await platform.signUp()
  t.equal((await stranger.get(path)).status, 404)
  t.equal((await stranger.put(fileAt('a.js'), Buffer.from('x'))).status, 404)
  t.equal((await stranger.post(`${path}/publish`, {})).status, 404)
})

t.test('a room script is renamed, chosen and checked like that of a deploy', async (t) => {
  const { platform, owner, path, save, game, program } = await withGame()
  const room = 'export function join(room) { room.log("hi") }'
  await deploy(platform, program, game.id, { ...BUILD, 'room.js': room }, 'with rooms', 'room.js')
  t.match((await owner.get(path)).body, { room: 'room.js' })
  await owner.post(`${path}/rename`, { from: 'room.js', to: 'server/room.js' })
  t.match((await owner.get(path)).body, { room: 'server/room.js' })
  await save('server/room.js', 'import "x"')
  t.match(await owner.post(`${path}/publish`, {}), { status: 400, body: { error: { code: 'invalid_room_script' } } })
  await save('server/room.js', room)
  t.equal((await owner.post(`${path}/publish`, {})).status, 200)
  t.match((await owner.get(`/api/games/${game.id}/deploys`)).body.deploys[0], { room: 'server/room.js' })
  t.equal((await owner.patch(path, { room: null })).status, 200)
  t.match((await owner.get(path)).body, { room: null, changed: true })
  t.equal((await owner.patch(path, { room: 'nothing.js' })).status, 404)
})

t.test('the preview of a draft shows each save at once', async (t) => {
  const { platform, owner, save, game } = await withGame()
  const { app } = platform
  const row = await app.drafts.store.open(await app.games.get(game.id), owner.id)
  const host = new URL(app.deploys.drafts.previewUrl(game.slug, row.id) as string).host
  const shown = async (path: string) => (await platform.stranger.get(path, { host })).text
  t.match(await shown('/js/game.js'), 'start()')
  await save('js/game.js', 'start(4)')
  t.match(await shown('/js/game.js'), 'start(4)')
  await save('index.html', '<!doctype html><title>Draft</title>')
  t.match(await shown('/'), '<title>Draft</title>')
  t.match(await platform.stranger.get('/js/game.js', { host: platform.gameHost(game.slug) }), { text: 'start()' })
})

t.test('contents of a draft are kept while it has them, and go with the game', async (t) => {
  const { platform, owner, save, game } = await withGame(startPlatform(t))
  const { app, clock } = platform
  await save('js/game.js', 'one')
  const first = (await app.drafts.file(owner.id, game.id, 'js/game.js')).sha256
  await save('js/game.js', 'two')
  const second = (await app.drafts.file(owner.id, game.id, 'js/game.js')).sha256
  clock.advance(2 * 86_400_000)
  await new GarbageCollector(app).collect(new AbortController().signal)
  t.equal(await isKept(platform, first), false)
  t.equal(await isKept(platform, second), true)
  await owner.post('/api/auth/sign-in', { email: owner.account.email, password: PASSWORD }) // the export needs a recent one
  t.match((await owner.get('/settings/export')).body.drafts, [{ path: 'js/game.js', size: 3, removed: false }])
  await owner.delete(`/api/games/${game.id}`)
  clock.advance(31 * 86_400_000)
  await app.games.deletion.purge(new AbortController().signal)
  for (const table of ['drafts', 'draft_files', 'quota_shared_blobs'])
    t.same(await app.db.query(`select * from ${table}`), [], table)
})
