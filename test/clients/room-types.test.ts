// The types of room scripts, as an editor applies them to plain JavaScript with comments.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { ROOM_TEMPLATE } from '../../clients/cli/room-template.ts'
import { plainEnvironment } from '../kit/packages.ts'

const root = resolve(import.meta.dirname, '../..')

/** The script of the guide. */
const [, GUIDE = ''] =
  /```js run file=game\/room\.js\n([\s\S]+?)```/.exec(readFileSync(join(root, 'docs/room-scripts.md'), 'utf8')) ?? []

/** Every line that ends with `// wrong` must be an error, and no other line may be one. */
const MISTAKES = `
/** @import { Join, Message, RoomScript, Settings, Tick } from '@gameyard/room' */
/** @type {Settings} */
export const settings = {
  tick: '20', // wrong
}
/** @type {Join} */
export const join = (room, player) => {
  room.send('hello', {}, player)
  room.send('hello', {}, [player, player.id])
  room.send('hello', {}, 7) // wrong
  room.players.push(player) // wrong
  if (player.name === '') return 'Choose a name first.'
}
/** @type {Join} */
export const wrongly = () => 7 // wrong
/** @type {Join} */
export const later = async (room, player) => ((await room.saves.get(player, 'ban')) ? 'You are banned.' : undefined)
/** @type {Join} */
export const wronglyLater = async () => 7 // wrong
/** @type {import('@gameyard/room').Open} */
export const opening = async (room) => void (await null)
/** @type {Settings} */
export const hidden = { listed: false }
/** @type {Message} */
export const message = async (room, player, type, data) => {
  const best = await room.saves.get(player, 'best')
  const stop = room.every(1000, () => room.log(best, data.anything))
  stop()
  room.fetch('https://example.org') // wrong
  room.after(1000, stop).toFixed() // wrong
}
/** @type {Tick} */
export const tick = (room, seconds) => void seconds.trim() // wrong
/** @satisfies {RoomScript} */
export const all = { settings: { tick: 3 }, join, message, tick }
`

t.test('a script is completed and checked by its comments alone', (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'node_modules/@gameyard'), { recursive: true })
  execFileSync('cp', ['-r', join(root, 'dist/clients/room'), join(folder, 'node_modules/@gameyard/room')])
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('template.js', ROOM_TEMPLATE)
  write('guide.js', GUIDE)
  write('mistakes.js', MISTAKES)
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        allowJs: true,
        checkJs: true,
        strict: true,
        noImplicitAny: false,
        noEmit: true,
        module: 'nodenext',
        target: 'es2022',
        lib: ['es2022'],
        types: [],
      },
      files: ['template.js', 'guide.js', 'mistakes.js'],
    }),
  )
  write('package.json', '{ "type": "module" }')
  let output = ''
  try {
    const tsc = join(root, 'node_modules/typescript/lib/tsc.js')
    execFileSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], { cwd: folder, env: plainEnvironment() })
  } catch (error) {
    output = String((error as { stdout: Buffer }).stdout)
  }
  const found = [...output.matchAll(/^(\S+)\((\d+),/gm)].map(([, file, line]) => `${file}:${line}`)
  const wrong = MISTAKES.split('\n').flatMap((line, index) =>
    line.endsWith('// wrong') ? [`mistakes.js:${index + 1}`] : [],
  )
  t.same([...new Set(found)], wrong, output)
  t.match(GUIDE, /room\.log/)
  t.end()
})
