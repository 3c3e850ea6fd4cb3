import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Check } from '../../../clients/cli/doctor.ts'
import { amount } from '../../kit/extent.ts'
import { PLAIN, THREADED } from '../../plugins/deploy/wasm.ts'
import { machine, startTestServer } from './kit.ts'

t.test('doctor DIR says before a deploy what a deploy says, and what would refuse it', async (t) => {
  const { server, ...account } = await startTestServer(t)
  const { cwd, gameyard, json } = machine(t, {
    SERVICE_API_TOKEN: await account.token(),
    SERVICE_BASE_URL: server.portal,
  })
  const folder = join(cwd, 'dist')
  mkdirSync(join(folder, 'js'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), '<title>Duo</title><script src="js/Main.js"></script>')
  writeFileSync(join(folder, 'js/main.js'), 'var Module=typeof Module!="undefined"?Module:{}')
  writeFileSync(join(folder, 'game.wasm'), THREADED)
  writeFileSync(join(folder, 'Game.exe'), 'MZ')
  const { healthy, checks } = await json('doctor', 'dist')
  t.equal(healthy, true, 'warnings are no failure')
  t.match(checks, [
    { name: 'Program', status: 'ok' },
    { name: 'Folder', status: 'ok', message: /dist: 4 files/ },
    { name: 'Engine', status: 'ok', message: 'Emscripten' },
    { name: 'Isolation', status: 'ok', message: /^on \(automatic\): game\.wasm uses shared memory/ },
    { name: 'Build', status: 'warning', message: /^Game\.exe is of no use/ },
    { name: 'Build', status: 'warning', message: /js\/Main\.js, but the file is js\/main\.js/ },
  ])
  const deployed = await gameyard('deploy', 'dist', '--create')
  t.match(deployed, { code: 0, stdout: /Engine +Emscripten\n +Isolated game\.wasm uses shared memory/ })
  for (const { message } of (checks as Check[]).filter(({ status }) => status === 'warning'))
    t.ok(deployed.stdout.includes(`Warning  ${message}`), message)

  writeFileSync(join(folder, 'game.wasm'), PLAIN)
  mkdirSync(join(folder, 'mp'))
  writeFileSync(join(folder, 'mp/a.js'), '')
  t.match(await gameyard('doctor', 'dist'), {
    code: 1,
    stdout:
      /failed +Path +mp\/a\.js is reserved for the platform\n[\s\S]*Isolation +off \(automatic\): No \.wasm file uses/,
  })
  t.match(await gameyard('doctor', 'dist/js'), { code: 1, stdout: /failed +Folder +There is no index\.html in .*js/ })
})

t.test('doctor DIR checks the room script as one, and examines what browsers get without it', async (t) => {
  const { cwd, gameyard, json } = machine(t, {})
  const write = (path: string, text: string) => {
    mkdirSync(join(cwd, path, '..'), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  write('dist/index.html', '<title>Duo</title>')
  // In a file that browsers load, this would be a warning about isolation.
  write('dist/room.js', 'export const settings = { tick: 5 }\nexport const open = () => new SharedArrayBuffer(8)')
  const warned = await gameyard('doctor', 'dist')
  t.match(
    warned,
    { code: 0, stdout: /warning +Build +room\.js uses/ },
    'without gameyard.json it is a file like others',
  )
  write('gameyard.json', '{ "gameId": "duo", "folder": "dist", "room": "room.js" }')
  const { healthy, checks } = await json('doctor', 'dist')
  t.equal(healthy, true)
  t.match(checks, [
    { name: 'Program', status: 'ok' },
    { name: 'Room script', status: 'ok', message: /^room\.js; no browser gets it$/ },
    { name: 'Folder', status: 'ok', message: /dist: 2 files/ },
    { name: 'Engine', status: 'ok' },
    { name: 'Isolation', status: 'ok' },
  ])
  t.equal(checks.length, 5, 'nothing is said about it as a file of the page')

  const mistakes: [room: string, text: string | null, message: RegExp][] = [
    [
      'room.js',
      'export const settings = {\n  ;',
      /failed +Room script +The room script has a mistake at .*room\.js:2:3/,
    ],
    ['room.js', 'const tick = 5', /failed +Room script +room\.js:1:1: It exports nothing that a room calls/],
    ['gone.js', null, /failed +Room script +The room script gone\.js can't be read/],
    [
      'large.js',
      `export const settings = {} // ${'x'.repeat(1024 ** 2)}`,
      /failed +Room script +large\.js is larger than 1 MiB/,
    ],
    ['index.html', null, /failed +Room script +/],
  ]
  for (const [room, text, message] of mistakes.slice(0, amount(2, mistakes.length))) {
    write('gameyard.json', JSON.stringify({ gameId: 'duo', folder: 'dist', room }))
    if (text !== null) write(join('dist', room), text)
    t.match(await gameyard('doctor', 'dist'), { code: 1, stdout: message }, room)
  }
  write('gameyard.json', '{ "gameId": "duo", "folder": "dist", "room": "server/game.js" }')
  write('server/game.js', 'export const open = () => {}')
  write('dist/game.js', 'play()')
  t.match(
    await gameyard('doctor', 'dist'),
    { code: 1, stdout: /failed +Room script +The room script .*game\.js is published as game\.js, and the build has/ },
    'players would miss their file',
  )
})
