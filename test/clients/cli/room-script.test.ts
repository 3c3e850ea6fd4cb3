import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { exposedFiles, exposedWarning } from '../../../clients/cli/deploy/exposed-files.ts'
import { readBuild } from '../../../clients/cli/deploy/folder.ts'
import { prepareRoomScript, withRoomScript } from '../../../clients/cli/deploy/room-script.ts'
import { projectIn } from '../../../clients/cli/project.ts'
import { ROOM_TEMPLATE, writeRoomScript } from '../../../clients/cli/room-template.ts'
import { inspectScript } from '../../../plugins/deploy/room-script/inspect.ts'
import { locateInSources, splitSourceMap } from '../../../plugins/deploy/source-maps/source-map.ts'
import { ask } from '../../kit/upload.ts'
import { machine, startTestServer } from './kit.ts'

const PLAIN = 'export const settings = { tick: 5 }\n'

/** Prepares the script of a project whose files are given by path. */
async function prepare(t: Test, room: string, files: Record<string, string>, folder = '.') {
  const root = t.testdir()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const prepared = await prepareRoomScript({ room, file: join(root, 'gameyard.json') }, resolve(root, folder))
  if (!prepared) throw new Error('There is no script.')
  t.teardown(() => prepared.remove())
  return { ...prepared, text: readFileSync(prepared.file, 'utf8') }
}

t.test('a script without imports is published as it is', async (t) => {
  const script = await prepare(t, 'room.js', { 'room.js': PLAIN })
  t.match(script, { path: 'room.js', text: PLAIN, size: PLAIN.length, bundled: false })
  t.match(await prepare(t, 'server/room.js', { 'dist/server/room.js': PLAIN }, 'dist'), { path: 'server/room.js' })
  const outside = await prepare(t, 'src/room.js', { 'src/room.js': PLAIN }, 'dist')
  t.match(outside, { path: 'room.js', text: PLAIN }, 'a source beside the build gets a name of its own in it')
})

t.test('a bundle takes the place of its source, which nobody may read', async (t) => {
  const { text, ...script } = await prepare(t, 'server/room.ts', { 'server/room.ts': 'export const tick: number = 5' })
  const paths = ['index.html', 'server/room.ts'].map((path) => ({ path, file: path, size: 1 }))
  const { files } = withRoomScript({ files: paths } as Parameters<typeof withRoomScript>[0], script)
  t.same(
    files.map(({ path }) => path),
    ['index.html', 'server/room.js'],
  )
})

t.test('a script never takes the place of another file of the build', async (t) => {
  const root = t.testdir({
    build: { 'index.html': '', 'main.js': 'play()', 'room.js': PLAIN, 'room.ts': PLAIN },
    server: { 'main.js': PLAIN, 'rules.js': PLAIN },
  })
  const publish = async (room: string) => {
    const script = await prepareRoomScript({ room, file: join(root, 'gameyard.json') }, join(root, 'build'))
    if (!script) throw new Error('There is no script.')
    t.teardown(() => script.remove())
    return withRoomScript(await readBuild(join(root, 'build')), script).files.map(({ path }) => path)
  }
  const refusal = { code: 'room_script_name_taken', message: /published as main\.js/, hint: /another name/ }
  await t.rejects(publish('server/main.js'), refusal, 'a script beside the build')
  await t.rejects(publish('room.ts'), { code: 'room_script_name_taken' }, 'the bundle of a script in the build')
  t.same(await publish('room.js'), ['index.html', 'main.js', 'room.js', 'room.ts'], 'its own source is replaced')
  t.match(await publish('server/rules.js'), ['index.html', 'main.js', 'room.js', 'room.ts', 'rules.js'])
})

t.test('a script that imports something, or is TypeScript, is bundled into one file', async (t) => {
  const script = await prepare(t, 'src/room.ts', {
    'src/room.ts': `import { size } from './rules.ts'\nimport { name } from 'shapes'\nexport const settings: { tick: number } = { tick: size }\nexport const open = (room) => room.log(name)\nexport const close = async () => (await import('./rules.ts')).size`,
    'src/rules.ts': 'export const size: number = 7',
    'node_modules/shapes/package.json': '{"name":"shapes","main":"index.cjs"}',
    'node_modules/shapes/index.cjs': 'exports.name = "square"',
  })
  t.match(script, { path: 'src/room.js', bundled: true })
  t.equal(inspectScript(script.text).problem, null, 'no import is left')
  t.match(script.text, /square/)
  const { source, sourceMap } = splitSourceMap(script.text)
  const at = source.split('\n').findIndex((text) => text.includes('room.log'))
  const [place] = locateInSources({ base64: sourceMap ?? '' }, [{ line: at + 1, column: 30 }])
  t.match(place, { path: 'src/room.ts', line: 4, excerpt: { lines: { 3: /room\.log\(name\)/ } } })
  await script.remove()
  t.notOk(existsSync(script.file), 'nothing stays behind')
})

t.test('a script that is too large with its source map goes without', async (t) => {
  const long = `export const settings: {} = {} // ${'x'.repeat(900_000)}`
  const script = await prepare(t, 'room.ts', { 'room.ts': long })
  t.ok(script.size < 1000, `${script.size} bytes`)
  t.same(splitSourceMap(script.text), { source: script.text, sourceMap: null })
  t.equal(inspectScript(script.text).problem, null)
})

t.test('files of the build that only the script uses are named', async (t) => {
  const root = t.testdir({
    'index.html': '<script type="module" src="main.js"></script>',
    'main.js': "import { size } from './shared/rules.js'",
    shared: { 'rules.js': "import './deep.js'\nexport const size = 1", 'deep.js': 'export const a = 1' },
    server: {
      'room.js':
        "import '../shared/rules.js'\nimport './answers.js'\nimport '../shared/deep.js'\nexport const open = 1",
      'answers.js': "import './more.json'",
      'more.json': '[1]',
      'room.js.map': '{}',
    },
  })
  const exposed = async () => {
    const script = await prepareRoomScript({ room: 'server/room.js', file: join(root, 'gameyard.json') }, root)
    if (!script) throw new Error('There is no script.')
    t.teardown(() => script.remove())
    return exposedFiles(withRoomScript(await readBuild(root), script), script)
  }
  t.same(await exposed(), ['server/answers.js', 'server/more.json', 'server/room.js.map'])
  t.match(
    exposedWarning(await exposed()),
    /^Everybody can read server\/answers\.js, server\/more\.json, .*gameyardignore/,
  )
  writeFileSync(join(root, '.gameyardignore'), 'server\n')
  t.same(await exposed(), [], 'what is not published is not exposed')
  t.equal(exposedWarning([]), null)
})

t.test('a mistake is told with its place', async (t) => {
  const broken = (room: string, files: Record<string, string>) => prepare(t, room, files)
  await t.rejects(broken('room.js', { 'room.js': 'export const open = 1\n  ;(;' }), {
    code: 'invalid_room_script',
    message: /room\.js:2:5: Unexpected token/,
  })
  await t.rejects(broken('room.ts', { 'room.ts': 'export const open = 1\n  ;(;' }), { message: /room\.ts:2:5: / })
  await t.rejects(broken('room.js', { 'room.js': "import './gone.js'" }), {
    message: /room\.js:1:8: Could not resolve "\.\/gone\.js"/,
  })
  await t.rejects(broken('room.js', { 'room.js': "import 'node:fs'" }), { message: /Could not resolve "node:fs"/ })
  await t.rejects(broken('room.js', {}), { code: 'no_room_script', hint: /gameyard init --room/ })
})

t.test('the first script is one that rooms run, and nothing is written over', async (t) => {
  t.equal(inspectScript(ROOM_TEMPLATE).problem, null)
  const cwd = t.testdir({ 'gameyard.json': '{ "gameId": "pong", "folder": "dist" }', dist: {} })
  const wrote = await writeRoomScript(await projectIn(cwd), cwd)
  t.match(wrote, { script: join(cwd, 'dist/room.js'), project: join(cwd, 'gameyard.json') })
  const project = await projectIn(cwd)
  t.match(project, { gameId: 'pong', folder: 'dist', room: 'room.js' })
  t.match(await prepareRoomScript(project as never, join(cwd, 'dist')), { path: 'room.js', bundled: false })
  await t.rejects(writeRoomScript(project, cwd), { code: 'room_script_exists' })
  await t.rejects(writeRoomScript(null, join(cwd, 'dist')), { code: 'room_script_exists', hint: /"room": "room\.js"/ })
})

t.test('gameyard.json brings a script, and init writes the first one', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const { json, gameyard, cwd } = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: portal })
  writeFileSync(join(cwd, 'index.html'), '<title>Referee</title>')
  const { game, url } = await json('deploy', '--create')
  t.match(await json('init', '--room'), { script: join(cwd, 'room.js'), project: join(cwd, 'gameyard.json') })
  writeFileSync(join(cwd, 'rules.js'), 'export const SIZE = 3')
  writeFileSync(join(cwd, 'room.js'), `import { SIZE } from './rules.js'\nexport const settings = { tick: SIZE }`)
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(
    dirname(createRequire(import.meta.url).resolve('esbuild/package.json')),
    join(cwd, 'node_modules/esbuild'),
  )
  const deployed = await gameyard('deploy', '--restart-rooms')
  const told =
    /Rooms {3}room\.js, bundled with what it imports\nEverybody can read rules\.js: only the room script uses it/
  t.match(deployed, { code: 0, stderr: told }, deployed.stderr)
  t.match(await gameyard('doctor', '.'), { code: 0, stdout: /warning +Room script +Everybody can read rules\.js/ })
  const headers = { authorization: `Bearer ${await platform.token()}` }
  const { deploys } = (await ask('GET', `${portal}/api/games/${game.id}/deploys`, { headers })).body
  t.match(deploys[0], { state: 'live', room: 'room.js', files: 3 })
  t.equal((await ask('GET', `${url}/room.js`)).status, 404)
  t.equal((await ask('GET', `${url}/rules.js`)).status, 200)
  t.match(await gameyard('deploy', '--preview', '--restart-rooms'), { code: 2, stderr: /a new preview has none/ })
})
