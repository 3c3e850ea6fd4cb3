// `npm run build:binary`: the whole platform as one file that needs nothing beside it, dist/gameyard.
//
// esbuild joins all code into one module; Node's single-executable mode puts it into a copy of the Node binary together
// with what is read at run time: browser assets, ready-made configurations, SQLite's native addon.
import { execFileSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { browserFileNames } from '../core/browser-files.ts'

const root = resolve(import.meta.dirname, '..')
const work = join(root, 'dist/binary')
const output = join(root, 'dist', platform() === 'win32' ? 'gameyard.exe' : 'gameyard')

rmSync(work, { recursive: true, force: true })
mkdirSync(work, { recursive: true })
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

const assets: Record<string, string> = {}
const include = (prefix: string, folder: string, names: string[]) => {
  for (const name of names) assets[`${prefix}/${name}`] = join(root, folder, name)
}
include(
  'browser',
  'dist/browser',
  browserFileNames(JSON.parse(readFileSync(join(root, 'dist/browser/manifest.json'), 'utf8'))),
)
include('config', 'config/files', readdirSync(join(root, 'config/files')))
include('docs', 'docs', globSync('*.md', { cwd: join(root, 'docs') }))
const harness = 'plugins/blender/harness'
include(harness, harness, globSync('**/*.{py,json}', { cwd: join(root, harness) }))
assets['better_sqlite3.node'] = join(root, `node_modules/better-sqlite3/prebuilds/${platform()}-${arch()}.node`)

// Debug symbols are a fifth of the Node binary. They must go before the injection: a stripped result crashes.
const node = join(work, 'node')
copyFileSync(process.execPath, node)
try {
  if (platform() === 'linux') execFileSync('strip', [node], { stdio: 'ignore' })
} catch {
  console.error('`strip` is not installed: the binary is larger than it need be.')
}

const config = join(work, 'sea.json')
writeFileSync(
  config,
  JSON.stringify({
    main,
    mainFormat: 'commonjs',
    output,
    executable: node,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    assets,
  }),
)
execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
try {
  // What was just written lies in the page cache in large pieces, which a start would map whole: 45 MB more than it uses.
  if (platform() === 'linux')
    execFileSync('dd', [`of=${output}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' })
} catch {
  // Then it is so until the machine reads the file anew.
}
console.log(`dist/${output.split(/[\\/]/).at(-1)}: ${Math.round(statSync(output).size / 1e6)} MB`)
