import t, { type Test } from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { DeployRow } from '../../../plugins/deploy/entities.ts'
import { inFull } from '../../kit/extent.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { type Build, build, deploy, filesOf, liveBuild, sha256, upload } from './build.ts'

const HOUR = 3_600_000

async function withGame(t: Test, config = {}) {
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  return { platform, player, game, program }
}

t.test('a build goes live: announced, uploaded, finalized', async (t) => {
  const { platform, player, game, program } = await withGame(t)
  const files = build('one')
  const started = await program.post('/api/deploy', { gameId: game.slug, files: filesOf(files), message: ' First ' })
  t.equal(started.status, 200)
  const { deployId, uploads } = started.body
  t.match(started.body, {
    deployId: /^dep_[0-9A-Z]{26}$/,
    expiresAt: '2026-11-22T12:00:00.000Z',
    unchanged: 0,
  })
  t.same(uploads.map(({ path }: { path: string }) => path).sort(), Object.keys(files).sort())
  t.match(uploads[0], {
    uploadUrl: new RegExp(`^http://localhost:8080/api/deploy/${deployId}/files/[^?]+\\?expires=\\d+&signature=`),
    method: 'PUT',
    headers: { 'content-type': String },
  })
  t.match(await program.get(`/api/deploy/${deployId}`), {
    status: 200,
    body: { id: deployId, gameId: game.id, state: 'uploading', message: 'First', files: 3, unchanged: 0, liveAt: null },
  })

  const early = await program.post(`/api/deploy/${deployId}/finalize`)
  t.match(early, { status: 409, body: { error: { code: 'incomplete_deploy' } } })
  t.same(
    early.body.error.details.map(({ path }: { path: string }) => path),
    Object.keys(files).sort(),
  )
  for (const wanted of uploads) t.equal((await upload(platform, wanted, files)).status, 204)
  t.same((await program.get(`/api/games/${game.id}`)).body.liveDeployId, null, 'nothing is live before finalize')

  const events: unknown[] = []
  platform.app.events.on('deploy.live', (event) => void events.push(event))
  const finalized = await program.post(`/api/deploy/${deployId}/finalize`)
  t.match(finalized, {
    status: 200,
    body: {
      url: 'http://pong.localhost:8080',
      playUrl: 'http://localhost:8080/games/pong',
      manageUrl: 'http://localhost:8080/games/pong/settings',
      auth: {
        enabled: true,
        clientId: game.clientId,
        startUrl: 'http://pong.localhost:8080/auth/service/start',
        sessionUrl: 'http://pong.localhost:8080/auth/service/session',
      },
      multiplayer: {
        enabled: true,
        url: 'ws://pong.localhost:8080/mp/rooms/{roomId}',
        client: 'http://pong.localhost:8080/__service/multiplayer.js',
      },
    },
  })
  t.same(events, [{ gameId: game.id, deployId, slug: 'pong' }])
  t.match(await platform.app.games.bySlug('pong'), { liveDeployId: deployId })
  t.same(await liveBuild(platform, game.id), files)
  const manifest = await platform.app.deploys.manifest(deployId)
  t.match(manifest?.get('js/0.js'), { size: 7, contentType: 'text/javascript; charset=utf-8' })

  const again = await program.post(`/api/deploy/${deployId}/finalize`)
  t.same([again.status, again.body], [200, finalized.body], 'finalize again says the same')
  t.equal(events.length, 1, 'and does nothing')
  t.equal((await upload(platform, uploads[0], files)).status, 409, 'a deploy that was live takes no files')
  t.match(await program.get(`/api/games/${game.id}/deploys`), {
    body: { deploys: [{ id: deployId, state: 'live', liveAt: String }], nextCursor: null },
  })
  t.equal((await player.get(`/api/deploy/${deployId}`)).status, 200, 'the portal asks with its session')
})

t.test('an unchanged build uploads nothing, a changed one only what is new', async (t) => {
  const { platform, game, program } = await withGame(t)
  const one = build('one', 5)
  const first = await deploy(platform, program, game.id, one)
  platform.clock.advance(1000)
  const same = await deploy(platform, program, game.id, one)
  t.same([same.started.body.uploads, same.started.body.unchanged], [[], 5])
  platform.clock.advance(1000)
  const changed = { ...one, 'index.html': 'two' }
  const second = await deploy(platform, program, game.id, changed)
  t.same(
    [second.started.body.uploads.map((wanted: { path: string }) => wanted.path), second.started.body.unchanged],
    [['index.html'], 4],
  )
  t.same(await liveBuild(platform, game.id), changed)
  const { body } = await program.get(`/api/games/${game.id}/deploys`)
  t.same(
    body.deploys.map((entry: { id: string; state: string }) => [entry.id, entry.state]),
    [
      [second.deployId, 'live'],
      [same.deployId, 'superseded'],
      [first.deployId, 'superseded'],
    ],
  )

  const back = await program.post(`/api/deploy/${first.deployId}/rollback`)
  t.match(back, { status: 200, body: { url: 'http://pong.localhost:8080' } })
  t.same(await liveBuild(platform, game.id), one)
  t.match(await program.get(`/api/deploy/${first.deployId}`), { body: { state: 'live' } })
  t.match(await program.get(`/api/deploy/${second.deployId}`), { body: { state: 'superseded' } })
  t.equal((await program.post(`/api/deploy/${first.deployId}/rollback`)).status, 200, 'twice is no harm')
  const unfinished = await program.post('/api/deploy', { gameId: game.id, files: filesOf(one) })
  t.equal((await program.post(`/api/deploy/${unfinished.body.deployId}/rollback`)).status, 409)
})

t.test('files of equal bytes are wanted once, an empty file too', async (t) => {
  const { platform, game, program } = await withGame(t)
  const files: Build = { 'index.html': 'x', 'a.txt': '', 'b.txt': '', 'c/d.txt': 'x' }
  const { started } = await deploy(platform, program, game.id, files)
  t.equal(started.body.uploads.length, 2)
  t.same(await liveBuild(platform, game.id), files)
})

t.test("bytes are an owner's by uploading them, never by knowing their digest", async (t) => {
  const { platform, game, program } = await withGame(t)
  const files = build('secret')
  await deploy(platform, program, game.id, files)

  const thief = await platform.signUp()
  const stolen = await platform.game(thief, { title: 'Copy' })
  const other = await platform.program(thief)
  const started = await other.post('/api/deploy', { gameId: stolen.id, files: filesOf(files) })
  t.equal(started.body.uploads.length, 3, 'no answer tells that the bytes are there')
  const refused = await other.post(`/api/deploy/${started.body.deployId}/finalize`)
  t.match(refused, { status: 409, body: { error: { code: 'incomplete_deploy' } } })
  t.equal(refused.body.error.details.length, 3)
  t.same(await liveBuild(platform, stolen.id), {})

  // Nobody may use uploaded files without a finalized deploy, not even the uploader.
  for (const wanted of started.body.uploads) await upload(platform, wanted, files)
  const second = await other.post('/api/deploy', { gameId: stolen.id, files: filesOf(files) })
  t.equal(second.body.uploads.length, 3)
  t.equal((await other.post(`/api/deploy/${started.body.deployId}/finalize`)).status, 200)
  t.same(await liveBuild(platform, stolen.id), files)
  const third = await other.post('/api/deploy', { gameId: stolen.id, files: filesOf(files) })
  t.equal(third.body.uploads.length, 0)
})

t.test("another's deploy is 404", async (t) => {
  const { platform, game, program } = await withGame(t)
  const { deployId } = await deploy(platform, program, game.id, build('one'))
  const other = await platform.program(await platform.signUp())
  for (const answer of [
    await other.post('/api/deploy', { gameId: game.id, files: filesOf(build('two')) }),
    await other.get(`/api/deploy/${deployId}`),
    await other.post(`/api/deploy/${deployId}/finalize`),
    await other.post(`/api/deploy/${deployId}/rollback`),
    await other.get(`/api/games/${game.id}/deploys`),
    await other.get('/api/deploy/nonsense'),
  ])
    t.match(answer, { status: 404, body: { error: { code: 'not_found' } } })
  const reader = await platform.program(await platform.signUp(), ['games:write'])
  t.match(await reader.post('/api/deploy', { gameId: game.id, files: [] }), {
    status: 403,
    body: { error: { message: 'API token is missing the deployments:write scope.' } },
  })
})

t.test('paths that must not be in a build', async (t) => {
  const { game, program } = await withGame(t)
  const file = { size: 1, sha256: sha256('x') }
  const start = (paths: string[], fields = {}) =>
    program.post('/api/deploy', { gameId: game.id, files: paths.map((path) => ({ ...file, path, ...fields })) })
  const hostile: [string, string][] = [
    ['../up.txt', 'segment'],
    ['a/../../b', 'segment'],
    ['./a', 'segment'],
    ['a/.', 'segment'],
    ['..', 'segment'],
    ['/etc/passwd', 'absolute'],
    ['//host/share', 'absolute'],
    ['a//b', 'empty segment'],
    ['a/', 'empty segment'],
    ['', 'empty'],
    ['a\\b', 'backslash'],
    ['..\\up', 'backslash'],
    ['C:/windows', 'drive letter'],
    ['c:x', 'drive letter'],
    ['nul\u0000.txt', 'control'],
    ['line\nbreak', 'control'],
    ['del\u007f', 'control'],
    ['c1\u0085', 'control'],
    ['txt\u202egnp.exe', 'control'],
    ['zero\u200bwidth', 'control'],
    ['cafe\u0301.txt', 'normalization'],
    ['lone\ud800', 'Unicode'],
    ['auth/service/start', 'reserved'],
    ['auth/service', 'reserved'],
    ['AUTH/Service/x.js', 'reserved'],
    ['mp', 'reserved'],
    ['mp/rooms.json', 'reserved'],
    ['MP/x', 'reserved'],
    ['__service/auth-widget.js', 'reserved'],
    ['.git/config', 'Git'],
    ['sub/.GIT/HEAD', 'Git'],
    ['.env', 'secrets'],
    ['.env.production', 'secrets'],
    ['server/.env.local', 'secrets'],
    ['x'.repeat(513), '512'],
    ['ä'.repeat(257), '512'],
  ]
  for (const [path, words] of hostile) {
    const answer = await start(['index.html', path])
    t.match(
      answer,
      { status: 400, body: { error: { code: 'invalid_request', message: words } } },
      JSON.stringify(path.slice(0, 30)),
    )
  }
  t.match(await start(['index.html', 'a', 'a']), { status: 400, body: { error: { message: 'twice' } } })
  t.match(await start(['a.html']), { status: 400, body: { error: { details: [{ path: 'index.html' }] } } })
  t.match(await start(['sub/index.html']), { status: 400, body: { error: { details: [{ path: 'index.html' }] } } })

  const fine = [
    'index.html',
    '.well-known/a.json',
    'mp3/x.mp3',
    'mp.js',
    'auth/index.html',
    'auth/services/x',
    '...',
    'a b/ü/日本.txt',
  ]
  fine.push('100%.txt', '%2e%2e/x', 'a?b', 'a#b', 'gitignore', '.gitignore', 'x'.repeat(512), 'A.txt', 'a.txt', "it's")
  t.equal((await start(fine)).status, 200)
})

t.test('what a file must say of itself', async (t) => {
  const { game, program } = await withGame(t)
  const good = { path: 'index.html', size: 1, sha256: sha256('x') }
  const start = (files: unknown) => program.post('/api/deploy', { gameId: game.id, files })
  for (const [name, files] of [
    ['no files', []],
    ['no list', 'index.html'],
    ['a negative size', [{ ...good, size: -1 }]],
    ['half a byte', [{ ...good, size: 0.5 }]],
    ['a size as text', [{ ...good, size: '1' }]],
    ['a digest in capitals', [{ ...good, sha256: good.sha256.toUpperCase() }]],
    ['a short digest', [{ ...good, sha256: 'abc' }]],
    ['an unknown field', [{ ...good, mode: 0o777 }]],
    ['a header injection', [{ ...good, contentType: 'text/html\r\nset-cookie: a=b' }]],
    ['no media type', [{ ...good, contentType: 'html' }]],
    ['one digest of two sizes', [good, { ...good, path: 'b', size: 2 }]],
  ] as const)
    t.equal((await start(files)).status, 400, name)
  const typed = await start([{ ...good, contentType: 'text/html; charset=utf-8' }])
  t.equal(typed.status, 200)
})

t.test('limits', async (t) => {
  const { game, program } = await withGame(t, {
    limits: { filesPerDeploy: 3, deployBytes: 100, deployFileBytes: 60 },
  })
  const start = (sizes: number[]) =>
    program.post('/api/deploy', {
      gameId: game.id,
      files: sizes.map((size, index) => ({
        path: index ? `${index}` : 'index.html',
        size,
        sha256: sha256(`${index}`),
      })),
    })
  t.equal((await start([60, 40])).status, 200)
  for (const sizes of [[1, 1, 1, 1], [61], [60, 41]])
    t.match(await start(sizes), { status: 413, body: { error: { code: 'payload_too_large' } } }, sizes.join())
})

t.test('20,000 files are a deploy, 20,001 are not', async (t) => {
  const { game, program } = await withGame(t)
  const files = Array.from({ length: 20_001 }, (_, index) => ({
    path: index ? `assets/${index}.bin` : 'index.html',
    size: 1,
    sha256: sha256(`${index}`),
  }))
  t.match(await program.post('/api/deploy', { gameId: game.id, files }), {
    status: 413,
    body: { error: { code: 'payload_too_large', message: 'at most 20000 files, not 20001' } },
  })
  const most = await program.post('/api/deploy', { gameId: game.id, files: files.slice(0, 20_000) })
  t.equal(most.status, 200)
  t.equal(most.body.uploads.length, 20_000)
})

t.test('finalize in parallel flips once, and all get the same answer', async (t) => {
  const { platform, game, program } = await withGame(t)
  const files = build('one', 20)
  const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
  for (const wanted of body.uploads) await upload(platform, wanted, files)
  const events: unknown[] = []
  platform.app.events.on('deploy.live', (event) => void events.push(event))
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => program.post(`/api/deploy/${body.deployId}/finalize`)),
  )
  for (const answer of answers) t.same([answer.status, answer.body], [200, answers[0]?.body])
  t.equal(events.length, 1)
})

t.test('of deploys finalized side by side exactly one is live in the end', async (t) => {
  const { platform, game, program } = await withGame(t)
  const builds: { files: Build; deployId: string }[] = []
  for (let index = 0; index < 8; index++) {
    const files = build(`build ${index}`)
    const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
    for (const wanted of body.uploads) await upload(platform, wanted, files)
    builds.push({ files, deployId: body.deployId })
  }
  await Promise.all(builds.map(({ deployId }) => program.post(`/api/deploy/${deployId}/finalize`)))
  await expectOneLive(t, platform, game.id)
  const { liveDeployId } = await platform.app.games.get(game.id)
  t.same(await liveBuild(platform, game.id), builds.find(({ deployId }) => deployId === liveDeployId)?.files)
})

t.test('a deploy that nobody finalizes expires after a day', async (t) => {
  const { platform, player, game, program } = await withGame(t)
  const files = build('late')
  const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
  for (const wanted of body.uploads) await upload(platform, wanted, files)
  platform.clock.advance(24 * HOUR + 1000)
  const { deploys } = platform.app
  await t.rejects(deploys.finalize(player.id, body.deployId), { code: 'deploy_expired', statusCode: 410 })
  t.equal((await upload(platform, body.uploads[0], files)).status, 403, 'the addresses have expired with it')
  await collector(platform).expire()
  t.match(await deploys.get(player.id, body.deployId), { state: 'expired' })
  await t.rejects(deploys.finalize(player.id, body.deployId), { code: 'deploy_expired' })
})

t.test('a game that is deleted takes its deploys with it', async (t) => {
  const { platform, game, program } = await withGame(t)
  const { deployId } = await deploy(platform, program, game.id, build('one'))
  await program.delete(`/api/games/${game.id}`)
  t.equal((await program.get(`/api/deploy/${deployId}`)).status, 404)
  t.equal((await program.post(`/api/deploy/${deployId}/rollback`)).status, 404)
})

// In the short form the test of 20,000 files proves it.
inFull(t)?.test('3,000 files begin', async (t) => {
  const { game, program } = await withGame(t)
  const files = Array.from({ length: 3000 }, (_, index) => ({
    path: index ? `assets/${index % 50}/file-${index}.bin` : 'index.html',
    size: index,
    sha256: sha256(`${index}`),
  }))
  const { status, body } = await program.post('/api/deploy', { gameId: game.id, files })
  t.equal(status, 200)
  t.equal(body.uploads.length, 3000)
})

const collector = (platform: Platform) => new GarbageCollector(platform.app)

async function expectOneLive(t: Test, platform: Platform, gameId: string): Promise<void> {
  const live = await platform.app.db.em().find(DeployRow, { gameId, state: 'live' })
  const { liveDeployId } = await platform.app.games.get(gameId)
  t.same(
    live.map(({ id }) => id),
    [liveDeployId],
    'the live deploy is the one that the game names',
  )
}
