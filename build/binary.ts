/**
 * `npm run build:binary`: the whole platform as one file without further dependencies, dist/gameyard.
 *
 * esbuild bundles the code into a few files. Node's single-executable mode puts them into a copy of the Node binary,
 * together with a V8 code cache for the start (which saves a third of its time) and the files that are read at run
 * time: browser assets, ready-made configurations, guides, SQLite's native addon.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { build, transform } from 'esbuild'
import { NODE_FLAGS } from '../bin/node-flags.js'
import { browserFileNames } from '../core/data/built-files.ts'
import { CLIENT_PACKAGES, clientPackageFile } from '../core/data/client-packages.ts'
import { assetsOfStarters } from '../plugins/starters/files.ts'

const root = resolve(import.meta.dirname, '..')
/** A folder for this process, which removes it at exit. */
const work = join(root, 'dist/binary', String(process.pid))

/** The platform on which a binary runs. */
export interface Target {
  platform: 'linux' | 'darwin' | 'win32'
  arch: 'x64' | 'arm64'
}

export const thisMachine = { platform: platform(), arch: arch() } as Target

const isHere = (target: Target) => target.platform === platform() && target.arch === arch()

/**
 * Bundles the code, which is the same for every target, into a few files that load when they are needed.
 *
 * esbuild splits only ES modules, and Node caches compiled code only of CommonJS, so each file is first built as an ES
 * module and then converted to CommonJS. All text is ASCII, which V8 stores with one byte per character; a single arrow
 * in a page would double the size.
 *
 * @returns the folder of the files; `binary.js` is the first
 */
export async function joinCode(): Promise<string> {
  mkdirSync(work, { recursive: true })
  process.once('exit', () => rmSync(work, { recursive: true, force: true }))
  for (const script of ['browser', 'client-packages'])
    execFileSync(process.execPath, [join(root, `build/${script}.ts`), '--if-stale'], { stdio: 'inherit' })
  const folder = join(work, 'code')
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['bin/binary.ts'],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    keepNames: true, // MikroORM and error classes need their names.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { VERSION: JSON.stringify(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version) },
    external: ['*.node', 'pg-native', 'tinyglobby', 'dataloader'],
    metafile: true,
    logLevel: 'warning',
  })
  // A dynamic import of a CommonJS file must have the names that Node would detect; esbuild gives it only a default
  // export.
  const late = new Map(
    Object.entries(metafile.outputs).map(([output, { entryPoint }]) => {
      const name = basename(output)
      const required = `require("./${name}")`
      const names = entryPoint && metafile.inputs[entryPoint]?.format === 'cjs'
      return [name, names ? `withNames(${required}.default)` : required]
    }),
  )
  for (const name of late.keys()) {
    const file = join(folder, name)
    const source = readFileSync(file, 'utf8').replaceAll(/\bimport\("\.\/([\w.-]+)"\)/g, (text, imported) =>
      late.has(imported) ? `Promise.resolve().then(()=>${late.get(imported)})` : text,
    )
    const { code } = await transform(source, {
      format: 'cjs',
      platform: 'node',
      target: 'node26',
      minifySyntax: true,
      minifyWhitespace: true,
      supported: { 'dynamic-import': false }, // Only dependencies of the platform are imported from here.
      logOverride: { 'empty-import-meta': 'silent' }, // The binary has another mechanism in the places that use it.
    })
    const ascii = code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    writeFileSync(file, `(function(exports,require,module,withNames){${ascii}\n})`)
  }
  return folder
}

/**
 * Builds the binary of one target.
 *
 * @param code the folder from `joinCode`
 * @param node the target's Node binary, of the version that runs this script
 * @param output the file to write
 */
export async function makeBinary(code: string, node: string, target: Target, output: string): Promise<void> {
  const executable = join(work, `node-${target.platform}-${target.arch}`)
  copyFileSync(node, executable)
  strip(executable, target)
  const compiled = join(work, 'compiled')
  // Compiled code is specific to a CPU architecture.
  if (isHere(target)) {
    const recorder = join(work, `recorder${platform() === 'win32' ? '.exe' : ''}`)
    await inject(executable, recorder, { ...assetsFor(target), ...filesOf('code', code) }, compiled)
    rmSync(compiled, { recursive: true, force: true })
    mkdirSync(compiled)
    await record(recorder)
    rmSync(recorder)
  }
  const assets = { ...assetsFor(target), ...filesOf('code', code) }
  await inject(executable, output, isHere(target) ? { ...assets, ...filesOf('compiled', compiled) } : assets)
  rmSync(executable)
  try {
    // A new file is in the page cache in large pages, which a start would map completely: 45 MB more than it uses.
    if (platform() === 'linux')
      execFileSync('dd', [`of=${output}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' })
  } catch {
    // Without this step, the large pages stay until the machine reads the file again.
  }
  console.log(`${relative(root, output)}: ${Math.round(statSync(output).size / 1e6)} MB`)
}

/** @param recordTo the folder in which the binary stores its compiled code when it exits */
async function inject(executable: string, output: string, assets: Record<string, string>, recordTo?: string) {
  const main = join(work, 'loader.cjs')
  await build({
    entryPoints: [join(root, 'build/binary-loader.ts')],
    outfile: main,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node26',
    minifySyntax: true,
    define: { RECORD_TO: JSON.stringify(recordTo ?? null) },
  })
  const config = join(work, 'sea.json')
  const options = {
    main,
    mainFormat: 'commonjs',
    output,
    executable,
    disableExperimentalSEAWarning: true,
    assets,
    execArgv: NODE_FLAGS,
  }
  writeFileSync(config, JSON.stringify(options))
  execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Runs the code of a start and of a command, to compile it. The second run does not replace the output of the first.
 */
async function record(recorder: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'gameyard-'))
  try {
    const server = spawn(recorder, ['serve', '--port', '0', '--data', data], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(server, 'exit')
    for await (const line of createInterface(server.stdout)) if (line.includes('"msg":"ready"')) server.kill()
    await ended
    execFileSync(recorder, ['deploy', '--help'], { stdio: ['ignore', 'ignore', 'inherit'] })
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

const filesOf = (prefix: string, folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [`${prefix}/${name}`, join(folder, name)]))

/**
 * Removes debug symbols, a fifth of the Node binary. This must precede the injection: stripping its result makes it
 * crash.
 */
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
  include('packages', 'dist/packages', CLIENT_PACKAGES.map(clientPackageFile))
  include('docs', 'docs', globSync('*.md', { cwd: join(root, 'docs') }))
  for (const [name, path] of Object.entries(assetsOfStarters())) assets[name] = join(root, path)
  const harness = 'plugins/blender/harness'
  include(harness, harness, globSync('**/*.{py,json}', { cwd: join(root, harness) }))
  const addon = `node_modules/better-sqlite3/prebuilds/${target.platform}-${target.arch}.node`
  assets['better_sqlite3.node'] = join(root, addon)
  return assets
}

if (import.meta.main) {
  const output = join(root, 'dist', platform() === 'win32' ? 'gameyard.exe' : 'gameyard')
  await makeBinary(await joinCode(), process.execPath, thisMachine, output)
}
