// Real outputs of engines: a program by Emscripten with and without threads, played in Chromium, and Phaser's library.
import { execFile } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../bin/program.ts'
import { openBrowser, openPage } from '../../kit/browser.ts'
import { hasPrograms } from '../../kit/components.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { type Build, deploy } from './build.ts'

const run = promisify(execFile)

const THREADS = `
#include <stdio.h>
#include <pthread.h>
static int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *count(void *argument) {
  for (int i = 0; i < 100000; i++) { pthread_mutex_lock(&lock); total++; pthread_mutex_unlock(&lock); }
  return argument;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  printf("Counted to %d.\\n", total);
  return 0;
}
`
const PLAIN = '#include <stdio.h>\nint main(void) { printf("One thread.\\n"); return 0; }\n'

/** Compiles a C program to a page with its script and module. The optimizer of Debian's package lacks a library. */
async function compile(t: Test, source: string, ...flags: string[]): Promise<Build> {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'main.c'), source)
  await run('emcc', ['main.c', '-O0', ...flags, '-o', 'index.html'], { cwd: folder })
  const names = globSync('index.*', { cwd: folder })
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]))
}

t.test('what Emscripten makes runs at once, with threads too', { timeout: timeLimit(600) }, async (t) => {
  if (!hasPrograms(t, 'emcc')) return
  const browser = await openBrowser(t)
  if (!browser) return
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const threaded = await compile(t, THREADS, '-pthread', '-sPROXY_TO_PTHREAD', '-sINITIAL_MEMORY=64MB')
  const plain = await compile(t, PLAIN)
  for (const [title, build, isolated, words] of [
    ['Threads', threaded, true, 'Counted to 400000.'],
    ['One', plain, false, 'One thread.'],
  ] as const) {
    const game = await platform.game(player, { title })
    const { finalized } = await deploy(platform, program, game.id, build)
    t.match(finalized.body, {
      isolation: { on: isolated },
      build: { engine: { name: 'Emscripten', version: null }, notes: [] },
    })
    const { page, context } = await openPage(browser)
    await page.goto(game.url)
    await page.waitForFunction(
      `document.getElementById('output')?.value.includes(${JSON.stringify(words)})`,
      undefined,
      { timeout: timeLimit(120) },
    )
    t.equal(await page.evaluate('crossOriginIsolated'), isolated, title)
    t.equal(await page.evaluate('typeof SharedArrayBuffer === "function"'), isolated)
    await context.close()
  }

  // Compressed by hand, as Unity and Godot publish it. The page asks for the name with its suffix.
  const { 'index.wasm': module, 'index.js': script, ...others } = threaded
  const game = await platform.game(player, { title: 'Packed' })
  const { finalized } = await deploy(platform, program, game.id, {
    ...others,
    'index.js': String(script).replaceAll("'index.wasm'", "'index.wasm.br'"),
    'index.wasm.br': brotliCompressSync(module as Buffer),
  })
  t.match(finalized.body, { isolation: { on: true }, build: { notes: [{ code: 'encoded', path: 'index.wasm.br' }] } })
  const { page } = await openPage(browser)
  await page.goto(game.url)
  await page.waitForFunction(`document.getElementById('output')?.value.includes('Counted to 400000.')`, undefined, {
    timeout: timeLimit(120),
  })
})

t.test('Phaser is recognised in its own library', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const library = join(import.meta.dirname, '../../../node_modules/phaser/dist/phaser.min.js')
  const { finalized } = await deploy(platform, await platform.program(player), game.id, {
    'index.html': '<script src="assets/vendor-Bx9_a1Zb.js"></script>',
    'assets/vendor-Bx9_a1Zb.js': readFileSync(library),
  })
  t.match(finalized.body.build, { engine: { name: 'Phaser', version: /^\d+\.\d+\.\d+$/ }, notes: [] })
})
