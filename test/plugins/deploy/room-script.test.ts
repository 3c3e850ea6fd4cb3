import t, { type Test } from 'tap'
import { inspectScript } from '../../../plugins/deploy/room-script/inspect.ts'
import { startPlatform } from '../../kit/platform.ts'
import { type Build, deploy as deployBuild, filesOf, sha256, upload } from './build.ts'

const SCRIPT = `export const settings = { tick: 10 }\nexport function message(room, player, type, data) {}\n`

async function withGame(t: Test) {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { app } = platform
  const host = 'pong.localhost:8080'
  const get = (path: string, at = host) => platform.stranger.get(path, { host: at })
  const announce = (files: Build, room: string) =>
    program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room })
  /** Announces and uploads a build with a room script, and returns the answer of its finalization. */
  const deploy = async (files: Build, query = '') => {
    const begun = await announce(files, 'room.js')
    for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
    const { deployId } = begun.body
    return { deployId, ...(await program.post(`/api/deploy/${deployId}/finalize${query}`)) }
  }
  const load = (source: Parameters<typeof app.deploys.roomScripts.load>[1]) =>
    app.deploys.roomScripts.load(game.id, source)
  return { platform, app, player, game, program, get, announce, deploy, load }
}

const build = (script: string): Build => ({ 'index.html': '<title>Pong</title>', 'room.js': script })

t.test('a deploy carries a room script: rooms load it, and nobody is served it', async (t) => {
  const { platform, game, program, get, deploy, load } = await withGame(t)
  t.equal(await load({ from: 'live' }), null, 'no deploy')
  const first = await deploy(build(SCRIPT))
  t.equal(first.status, 200, first.text)
  const { deployId } = first
  const expected = { digest: sha256(SCRIPT), deployId, path: 'room.js', source: SCRIPT, sourceMap: null }
  t.same(await load({ from: 'live' }), expected)
  t.same(await load({ from: 'deploy', deployId }), expected)
  t.match(await program.get(`/api/deploy/${deployId}`), { body: { room: 'room.js' } })

  t.equal((await get('/index.html')).status, 200)
  for (const path of ['/room.js', '/room.js?x', '/room%2Ejs', '//../room.js'.slice(1)]) {
    const { status, text } = await get(path)
    t.notMatch(text, 'settings', path)
    if (!path.startsWith('/..')) t.match({ status }, { status: 404 }, path)
  }
  t.equal((await get('/room.js')).status, 404, 'also when the site is in memory')
  t.match(await get('/room.js/more'), { status: 200, text: /Pong/ }, 'another path is a page of the game')

  const other = SCRIPT.replace('10', '20')
  const preview = await deploy(build(other), '?preview=true')
  const short = preview.deployId.slice(-10).toLowerCase()
  t.match(await load({ from: 'preview', preview: short }), { source: other, deployId: preview.deployId })
  t.match(await load({ from: 'live' }), { source: SCRIPT }, 'the live script stays')
  const previewHost = `pong--${short}.localhost:8080`
  t.equal((await get('/', previewHost)).status, 200)
  t.equal((await get('/room.js', previewHost)).status, 404)

  const plain = await deployBuild(platform, program, game.id, {
    'index.html': '<title>Pong</title>',
    'room.js': SCRIPT,
  })
  t.equal(await load({ from: 'live' }), null, 'a build that names no script has none')
  t.equal((await get('/room.js')).status, 200, 'and its file of that name is an ordinary one')
  t.equal((await program.get(`/api/deploy/${plain.deployId}`)).body.room, null)

  await program.post(`/api/deploy/${deployId}/rollback`)
  t.match(await load({ from: 'live' }), { source: SCRIPT }, 'a rollback brings its script back')
  t.equal((await get('/room.js')).status, 404)
  t.match(await load({ from: 'deploy', deployId: preview.deployId }), { source: other })
  await program.delete(`/api/deploy/${preview.deployId}`)
  t.equal(await load({ from: 'deploy', deployId: preview.deployId }), null, 'gone with its deploy')
})

t.test('a script of another game is not loaded', async (t) => {
  const { platform, deploy, app } = await withGame(t)
  const { deployId } = await deploy(build(SCRIPT))
  const other = await platform.game(await platform.signUp(), { title: 'Other' })
  t.equal(await app.deploys.roomScripts.load(other.id, { from: 'deploy', deployId }), null)
})

t.test('a script that no room can run is refused with its place', async (t) => {
  const { program, game, announce, deploy, load, get } = await withGame(t)
  await deploy(build(SCRIPT))
  const refused = async (script: string, line: number, column: number, message: RegExp) => {
    const answer = await deploy(build(script))
    t.match(answer, {
      status: 400,
      body: {
        error: {
          code: 'invalid_room_script',
          message: new RegExp(`^room\\.js .*${message.source}.* \\(line ${line}, column ${column}\\)\\.$`),
          details: [{ path: `room.js:${line}:${column}`, message }],
        },
      },
    })
    return answer
  }
  const { deployId } = await refused('export function open(room) {\n  room.log(;\n}', 2, 12, /Unexpected token/)
  await refused("import x from './x.js'\nexport const settings = x", 1, 1, /It imports another module/)
  t.match(
    await program.get(`/api/deploy/${deployId}`),
    { body: { state: 'failed', failure: /line 2, column 12/ } },
    'the deploy has failed, and says why',
  )
  t.match(await load({ from: 'live' }), { source: SCRIPT }, 'the live one stays')
  t.equal((await get('/index.html')).status, 200)

  t.match(await announce({ 'index.html': 'x' }, 'room.js'), {
    status: 400,
    body: { error: { message: /The file room\.js is named as the room script, and is not among the files/ } },
  })
  t.match(await announce({ 'index.html': 'x' }, 'index.html'), { status: 400 })
  const large = { 'index.html': 'x', 'room.js': `${SCRIPT}//${'x'.repeat(1024 ** 2)}` }
  t.match(await announce(large, 'room.js'), { status: 413, body: { error: { message: /larger than 1 MiB/ } } })
  t.equal((await program.post('/api/deploy', { gameId: game.id, files: filesOf(large), room: '' })).status, 400)
})

t.test('hostile texts are refused, and hold up nothing', async (t) => {
  const { deploy, platform } = await withGame(t)
  const began = performance.now()
  const tries = [
    ['not UTF-8', Buffer.from([0x65, 0xff, 0xfe]), /is not UTF-8/],
    ['deep nesting', `export const settings = ${'['.repeat(400_000)}`, /nested too deeply|stack space|memory/],
    ['deep blocks', `${'{'.repeat(400_000)}`, /nested too deeply|stack space|memory/],
  ] as const
  for (const [name, script, message] of tries) {
    const [answer, health] = await Promise.all([deploy(build(script as never)), platform.stranger.get('/healthz')])
    t.match(answer, { status: 400, body: { error: { code: 'invalid_room_script', message } } }, name)
    t.equal(health.status, 200)
  }
  t.comment(`${Math.round(performance.now() - began)} ms`)
})

t.test('rooms are restarted by wish only, and only where there are any', async (t) => {
  const { app, game, program, deploy } = await withGame(t)
  const restarts: unknown[] = []
  app.events.on('rooms.restart', (event) => void restarts.push(event))
  const first = await deploy(build(SCRIPT))
  t.same(restarts, [])
  const second = await deploy(build(`${SCRIPT}//`), '?restartRooms=true')
  t.equal(second.status, 200)
  t.same(restarts, [{ gameId: game.id }])
  await program.post(`/api/deploy/${second.deployId}/finalize?restartRooms=true`)
  t.equal(restarts.length, 1, 'a repeated call changes nothing')
  t.match(await deploy(build(`${SCRIPT}///`), '?preview=true&restartRooms=true'), {
    status: 400,
    body: { error: { message: /a new preview has none/ } },
  })
  await program.post(`/api/deploy/${first.deployId}/rollback?restartRooms=true`)
  t.equal(restarts.length, 2)
})

t.test('what a script may be', (t) => {
  const valid = [
    'export const settings = {}',
    'export function open() {}',
    'export async function message() {}',
    'const f = () => {}; export { f as tick }',
    'const f = () => {}; export { f as "leave" }',
    'export const { open, ...rest } = { open() {} }',
    'export const [a, [join]] = [1, [2]]',
    'export class open {}',
    '#!/usr/bin/env gameyard\nexport let close = () => {}',
    'export default {}; export const snapshot = () => ({ import: 1 })',
    'export const restore = /[/]import(x)/u',
    'export const settings = { tick: 60, players: null, relay: true }',
    'export const settings = { tick: 0.5, players: 1 }',
    'export const settings = { tick: 100, ...globalThis.mine }',
    'let tick = 100; tick = 5; export const settings = { tick, players: undefined }',
    'export const settings = Object.freeze({ tick: 5 })',
  ]
  for (const source of valid) t.equal(inspectScript(source).problem, null, source)
  const invalid: [string, number, number, RegExp][] = [
    ['', 1, 1, /exports nothing that a room calls: settings, open/],
    ['const open = 1', 1, 1, /exports nothing/],
    ['\n  export default { open() {} }', 2, 3, /exports nothing/],
    ['export const mesage = 1', 1, 1, /exports nothing/],
    ["export const open = () => import('./x.js')", 1, 27, /imports another/],
    ["export const settings = { a: import('./x.js') }", 1, 30, /imports another/],
    ["export class open { x = import('x') }", 1, 25, /imports another/],
    ["export * from './x.js'", 1, 1, /imports another/],
    ["export { open } from './x.js'", 1, 1, /imports another/],
    ["import './x.js'; export const open = 1", 1, 1, /imports another/],
    ['export const open = 1;\nexport const open = 2', 2, 14, /already been declared/],
    ['with (x) {}', 1, 1, /strict mode/],
    ['export const open = <T>() => {}', 1, 21, /Unexpected token/],
    ['let x: number', 1, 6, /Unexpected token/],
    ['export const settings = { tick: 100 }', 1, 27, /settings\.tick must be a number from 0 to 60/],
    ['export const settings = { tick: -1 }', 1, 27, /settings\.tick/],
    ["export const settings = { 'tick': 'twenty' }", 1, 27, /settings\.tick/],
    ['export const settings = { tick: null }', 1, 27, /settings\.tick/],
    ['const TICK = 61; export const settings = { tick: TICK }', 1, 44, /settings\.tick/],
    ['export const settings = { players: -1 }', 1, 27, /settings\.players must be a whole number from 1 to 1000000/],
    ['export const settings = { players: 2.5 }', 1, 27, /settings\.players/],
    ['export const settings = { players: [8] }', 1, 27, /settings\.players/],
    ['var s = { relay: !0,\n  tick: `5` }; export { s as settings }', 2, 3, /settings\.tick/],
  ]
  for (const [source, line, column, message] of invalid)
    t.match(inspectScript(source).problem, { line, column, message }, source)
  t.end()
})

t.test('what a script probably means', (t) => {
  const notesOf = (source: string) => inspectScript(source).notes.map(({ message }) => message)
  t.same(notesOf('export function onMessage() {}\nexport const settings = { player: 4, tickRate: 20, relay: 1 }'), [
    'exports onMessage, which no room calls; it may mean message.',
    'has settings.player, which no room reads; it may mean players.',
    'has settings.tickRate, which no room reads; it may mean tick.',
    'has a settings.relay that is not true or false, and counts as false.',
  ])
  t.same(notesOf('export const open = 1; export const SIZE = 3; export default 1; export const setings = {}'), [
    'exports setings, which no room calls; it may mean settings.',
    'exports SIZE, default, which no room reads.',
  ])
  t.match(notesOf('export const settings = { fps: 9, toString: 1 }'), [
    /fps.*there are tick, players, clientState, relay/,
    /toString/,
  ])
  t.same(notesOf('export const open = 1, onOpen = 2'), [], 'the one that is meant is there')
  t.same(notesOf('export const settings = { tick: 5, clientState: false, relay: true }; export const close = 1'), [])
  t.end()
})

t.test(
  'a deploy says what its room script probably means, and refuses settings with which no room opens',
  async (t) => {
    const { program, deploy } = await withGame(t)
    const { deployId } = await deploy(build('export const onTick = 1; export const settings = { tick: 5 }'))
    t.match(await program.get(`/api/deploy/${deployId}`), {
      body: { state: 'live', build: { notes: [{ level: 'warning', code: 'unknown_export', path: 'room.js' }] } },
    })
    t.match(await deploy(build('export const settings = { tick: 100 }')), {
      status: 400,
      body: { error: { code: 'invalid_room_script', message: /settings\.tick must be a number from 0 to 60/ } },
    })
  },
)
