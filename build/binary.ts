/**
 * `npm run build:binary`: the whole platform as one file that needs nothing beside it, dist/gameyard.
 *
 * esbuild joins all code into one module; Node's single-executable mode puts it into a copy of the Node binary together
 * with what is read at run time: browser assets, ready-made configurations, guides, SQLite's native addon.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { build } from 'esbuild'
import { browserFileNames } from '../core/browser-files.ts'

const root = resolve(import.meta.dirname, '..')
/** A folder of this process's own, gone with it. */
const work = join(root, 'dist/binary', String(process.pid))

/** Where a binary shall run. */
export interface Target {
  platform: 'linux' | 'darwin' | 'win32'
  arch: 'x64' | 'arm64'
}

export const thisMachine = { platform: platform(), arch: arch() } as Target

const isHere = (target: Target) => target.platform === platform() && target.arch === arch()

/** Joins the code, which is the same for every target. @returns the file */
export async function joinCode(): Promise<string> {
  mkdirSync(work, { recursive: true })
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  execFileSync(process.execPath, [join(root, 'build/browser.ts'), '--if-stale'], { stdio: 'inherit' })
  const main = join(work, 'main.cjs')
  await build({
    entryPoints: [join(root, 'bin/binary.ts')],
    outfile: main,
    bundle: true,
    format: 'cjs', // Node keeps compiled code for CommonJS only: a fifth of the start, a quarter of the memory
    platform: 'node',
    target: 'node26',
    keepNames: true, // MikroORM and error classes are known by name
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { VERSION: JSON.stringify(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version) },
    external: ['*.node', 'pg-native', 'tinyglobby', 'dataloader'],
    logLevel: 'warning',
    logOverride: { 'empty-import-meta': 'silent' }, // where it is used, the binary has another way
  })
  return main
}

/**
 * Makes the binary of one target.
 *
 * @param main what `joinCode` made
 * @param node the target's own Node, of the version that runs this
 * @param output the file to write
 */
export function makeBinary(main: string, node: string, target: Target, output: string): void {
  const executable = join(work, `node-${target.platform}-${target.arch}`)
  copyFileSync(node, executable)
  strip(executable, target)
  const config = join(work, 'sea.json')
  writeFileSync(
    config,
    JSON.stringify({
      main,
      mainFormat: 'commonjs',
      output,
      executable,
      disableExperimentalSEAWarning: true,
      useCodeCache: isHere(target), // compiled code is of one kind of processor
      assets: assetsFor(target),
    }),
  )
  execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(executable)
  try {
    // What was just written lies in the page cache in large pieces, which a start would map whole: 45 MB more than it
    // uses.
    if (platform() === 'linux')
      execFileSync('dd', [`of=${output}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' })
  } catch {
    // Then it is so until the machine reads the file anew.
  }
  console.log(`${relative(root, output)}: ${Math.round(statSync(output).size / 1e6)} MB`)
}

/** Debug symbols are a fifth of the Node binary. They must go before the injection: a stripped result crashes. */
function strip(executable: string, target: Target): void {
  if (target.platform !== 'linux' || !isHere(target)) return
  try {
    execFileSync('strip', [executable], { stdio: 'ignore' })
  } catch {
    console.error('`strip` is not installed: the binary is larger than it need be.')
  }
}

function assetsFor(target: Target): Record<string, string> {
  const assets: Record<string, string> = {}
  const include = (prefix: string, folder: string, names: string[]) => {
    for (const name of names) assets[`${prefix}/${name}`] = join(root, folder, name)
  }
  const manifest = JSON.parse(readFileSync(join(root, 'dist/browser/manifest.json'), 'utf8'))
  include('browser', 'dist/browser', browserFileNames(manifest))
  include('config', 'config/files', readdirSync(join(root, 'config/files')))
  include('docs', 'docs', globSync('*.md', { cwd: join(root, 'docs') }))
  const harness = 'plugins/blender/harness'
  include(harness, harness, globSync('**/*.{py,json}', { cwd: join(root, harness) }))
  const addon = `node_modules/better-sqlite3/prebuilds/${target.platform}-${target.arch}.node`
  assets['better_sqlite3.node'] = join(root, addon)
  return assets
}

if (import.meta.main) {
  const output = join(root, 'dist', platform() === 'win32' ? 'gameyard.exe' : 'gameyard')
  makeBinary(await joinCode(), process.execPath, thisMachine, output)
}
