// The scripts for game engines: real compilers build programs with them, which play in deployed games in Chromium.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openBrowser, openPage } from '../kit/browser.ts'
import { hasPrograms } from '../kit/components.ts'
import { cookiesOf } from '../kit/engines/pages.ts'
import { startPlatform } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'

const root = resolve(import.meta.dirname, '../..')
const scripts = join(root, 'clients/engines')
const programs = join(root, 'test/fixtures/engines')

/** The page of a player whose game is plain JavaScript. */
const SECOND = `<!doctype html><title>Second</title><script type="module">
import { join } from '/__service/multiplayer.js'
window.heard = []
const room = window.room = await join('lobby')
room.on('message', (type, data) => heard.push([type, data]))
room.on('binary', (bytes) => heard.push([...bytes]))
</script>`

function folder(t: Test): string {
  const made = mkdtempSync(join(tmpdir(), 'gameyard-engines-'))
  t.teardown(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const run = (t: Test, command: string, options: string[], cwd: string): void => {
  t.comment(`${command} ${options.join(' ')}`)
  execFileSync(command, options, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Deploys a game, and opens it for Ada. The returned function waits until the program has printed a line. */
async function play(t: Test, files: Record<string, string | Buffer>) {
  const browser = await openBrowser(t)
  if (!browser) return null
  const platform = await startPlatform(t, { listen: true })
  const [ada, grace] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Grace' })]
  const game = await platform.game(ada)
  const program = await platform.program(ada)
  await program.put(`/api/games/${game.id}/boards/points`, { title: 'Points', decimals: 1 })
  await deploy(platform, program, game.id, { ...files, 'second.html': SECOND })
  const open = async (player: typeof ada, path: string) => {
    const { page, context, complaints } = await openPage(browser)
    context.setDefaultTimeout(150_000) // On a busy machine.
    await context.addCookies(cookiesOf(platform, player))
    await page.goto(`${game.url}/auth/service/start?returnTo=${path}`)
    return { page, complaints }
  }
  const first = await open(ada, '/')
  const lines = () => first.page.evaluate('window.lines') as Promise<string[]>
  const printed = async (pattern: RegExp): Promise<string> => {
    await first.page.waitForFunction(`window.lines?.some((line) => ${pattern}.test(line))`)
    return (await lines()).find((line) => pattern.test(line)) ?? ''
  }
  return { ...first, lines, printed, openSecond: () => open(grace, '/second.html') }
}

/** What both programs do: they are in a room with a second player, and their save and score have arrived. */
async function talk(t: Test, playing: NonNullable<Awaited<ReturnType<typeof play>>>): Promise<void> {
  const { printed, openSecond, page, complaints, lines } = playing
  t.match(await printed(/^1 1 /), /"signedIn":true,"id":"\w+","name":"Ada"/, 'who plays')
  t.match(await printed(/^2 1 /), /\{"me":"\w+","capacity":100\}/, 'the room')
  t.match(await printed(/^-7 1 .*"state".*level/), '"set":[{"key":"level","value":"3"}]')
  await printed(/^\d 1 .*"rank":1,"total":1/)
  const second = await openSecond()
  t.match(await printed(/"players".*Grace/), /"name":"Ada".*"isHost":true.*"name":"Grace".*"isMe":false,"isHost":false/)
  await second.page.waitForFunction('window.room')
  t.equal(await second.page.evaluate("room.state.get('level')"), 3)
  t.same(await second.page.evaluate("room.players.find(({ name }) => name === 'Ada').data"), { colour: 'grün' })
  await second.page.evaluate("room.send('hello', { from: 'Grëta' })")
  t.match(await printed(/"hello"/), '"type":"hello","data":"{\\"from\\":\\"Grëta\\"}","from":"')
  await second.page.waitForFunction('heard.length === 2')
  t.same(await second.page.evaluate('heard'), [
    ['answer', { text: 'schön' }],
    [1, 2, 250],
  ])
  await second.page.evaluate('room.sendBinary(new Uint8Array([9, 8, 7]))')
  await printed(/^(bytes 7 \w+ 3 7|7 7 \w+)$/)
  await second.page.evaluate("room.send('goodbye')")
  await printed(/"event":"left","reason":"left"/)
  await second.page.waitForFunction('room.players.length === 1')
  const all = await lines()
  t.ok(
    all.findIndex((line) => line.startsWith('2 1')) < all.findIndex((line) => line.startsWith('-7')),
    'events follow the answer',
  )
  t.same(
    [...complaints, ...second.complaints].filter((text) => !/status of 404/.test(text)),
    [],
    'nothing complained',
  )
  await page.close()
}

t.test(
  'a program linked with gameyard.jslib talks to a room, saves and scores',
  { timeout: timeLimit(600) },
  async (t) => {
    if (!hasPrograms(t, 'emcc')) return
    const at = folder(t)
    const library = ['--js-library', join(scripts, 'unity/gameyard.jslib')]
    const functions = '-sEXPORTED_FUNCTIONS=_main,_malloc,_free' // A build of Unity always has them.
    run(t, 'emcc', ['-O1', '-Wall', '-Werror', join(programs, 'unity.c'), '-o', 'game.js', functions, ...library], at)
    const page =
      '<!doctype html><title>Game</title><script>lines = []; Module = { print: (line) => lines.push(line) }</script><script src="game.js"></script>'
    const files = {
      'index.html': page,
      'game.js': readFileSync(join(at, 'game.js')),
      'game.wasm': readFileSync(join(at, 'game.wasm')),
    }
    const playing = await play(t, files)
    if (!playing) return
    const { printed } = playing
    t.match(await printed(/^4 /), '4 1 {"exists":true,"value":"{\\"level\\":3}"}')
    t.match(await printed(/^6 /), '6 1 {"sent":true,"score":12.5,"best":12.5,"rank":1,"total":1,"improved":true')
    t.match(
      await printed(/^7 /),
      /7 1 {"entries":\[{"rank":1,"score":12.5,"id":"\w+","name":"Ada","me":true}\],"total":1,"rank":1}/,
    )
    t.match(
      await printed(/^9 /),
      /^9 0 {"code":"not_found","message":"There is no such board\. .*games boards set.*"}/,
      'a refusal',
    )
    await printed(/the server's time/)
    await talk(t, playing)
  },
)

t.test('a page that no platform serves answers every call', { timeout: timeLimit(300) }, async (t) => {
  if (!hasPrograms(t, 'emcc')) return
  const browser = await openBrowser(t)
  if (!browser) return
  const at = folder(t)
  const library = ['--js-library', join(scripts, 'unity/gameyard.jslib')]
  const functions = '-sEXPORTED_FUNCTIONS=_main,_malloc,_free'
  run(t, 'emcc', ['-O1', '-sSINGLE_FILE', join(programs, 'unity.c'), '-o', 'game.js', functions, ...library], at)
  const { page } = await openPage(browser)
  await page.setContent(
    `<script>lines = []; Module = { print: (line) => lines.push(line) }</script><script>${readFileSync(join(at, 'game.js'))}</script>`,
  )
  await page.waitForFunction('window.lines?.some((line) => line.startsWith(\'1 0 {"code":"no_platform"\'))')
  t.pass('with the code no_platform')
})

t.test('plain WebAssembly does the same with gameyard-wasm.js', { timeout: timeLimit(600) }, async (t) => {
  if (!hasPrograms(t, 'emcc')) return
  const at = folder(t)
  const alone = ['--no-entry', '-sSTANDALONE_WASM', '-sERROR_ON_UNDEFINED_SYMBOLS=0']
  run(t, 'emcc', ['-O1', ...alone, '-I', join(scripts, 'wasm'), join(programs, 'plain.c'), '-o', 'plain.wasm'], at)
  const page = `<!doctype html><title>Game</title><script type="module">
    import * as gameyard from './gameyard-wasm.js'
    window.lines = []
    const print = (id, ok, text, length) =>
      lines.push(\`\${id} \${ok} \${new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, text, length))}\`)
    const { instance } = await WebAssembly.instantiateStreaming(fetch('plain.wasm'), { gameyard, test: { print } })
    const attached = gameyard.attach(instance.exports)
    instance.exports.start() // Before the platform's script is there.
    await attached
  </script>`
  const playing = await play(t, {
    'index.html': page,
    'plain.wasm': readFileSync(join(at, 'plain.wasm')),
    'gameyard-wasm.js': readFileSync(join(scripts, 'wasm/gameyard-wasm.js')),
  })
  if (!playing) return
  t.match(await playing.printed(/^4 /), '4 1 {"exists":true,"value":"{\\"level\\":3}"}')
  await talk(t, playing)
})

t.test('the class for Unity compiles', async (t) => {
  if (!hasPrograms(t, 'mcs')) return
  // Its fields without a value are filled from JSON.
  const options = ['-target:library', '-warnaserror', '-nowarn:0649', '-out:gameyard.dll']
  run(t, 'mcs', [...options, join(scripts, 'unity/Gameyard.cs'), join(programs, 'UnityEngine.cs')], folder(t))
  t.pass('without a warning')
})

t.test('the script for Godot parses', async (t) => {
  const modules = process.env.GAMEYARD_GDSCRIPT
  const missing = 'no parser of GDScript (set GAMEYARD_GDSCRIPT to a folder with tree-sitter and tree-sitter-gdscript)'
  if (!modules) return process.env.CI === 'true' ? t.fail(missing) : t.pass(missing, { skip: missing })
  const load = createRequire(join(modules, 'index.js'))
  const Parser = load('tree-sitter')
  const parser = new Parser()
  parser.setLanguage(load('tree-sitter-gdscript'))
  const text = readFileSync(join(scripts, 'godot/gameyard.gd'), 'utf8')
  t.equal(parser.parse(text).rootNode.hasError, false)
  t.equal(parser.parse(text.replace('func session()', 'func session(')).rootNode.hasError, true, 'a mistake is noticed')
})
