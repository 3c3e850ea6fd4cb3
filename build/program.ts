/**
 * Bundles the program into a few files below `dist/program/`, from which `bin/gameyard.js` starts it. Compared with
 * some thousand source files this takes two thirds of the time and a sixth less memory. Code that few commands need
 * stays in files of its own.
 *
 * `--if-stale` does nothing while the built program is newer than its sources.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { builtProgram, FOLDER } from '../bin/built-program.js'

const root = join(import.meta.dirname, '..')
const output = join(root, FOLDER)
/** The time before an old build is removed, because a running build or program may still read it. */
const KEEP_MS = 24 * 60 * 60 * 1000

/** Keeps the paths of sources that look for files beside themselves valid from `dist/program/<build>/`. */
const places: Plugin = {
  name: 'places',
  setup(esbuild) {
    esbuild.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes(`${sep}node_modules${sep}`)) return null
      const at = (place: string) =>
        `require('node:path').join(import.meta.dirname, ${JSON.stringify(join('../../..', relative(root, place)))})`
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.dirname', () => at(dirname(path)))
        .replaceAll('import.meta.filename', () => at(path))
      return { contents, loader: 'ts' }
    })
  },
}

/** Avoids ES imports of `http` and `https`, which load Node's whole WebSocket client: a twentieth of the start time. */
const lean: Plugin = {
  name: 'lean',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^(node:)?https?$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'required' } : { path, external: true },
    )
    esbuild.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/**
 * Leaves CommonJS packages with a dynamic import to Node: in a separate bundled file they would have only a default
 * export. Packages that every start needs are imported statically, and bundled.
 */
const later: Plugin = {
  name: 'later',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === later || importer.includes('node_modules')) return null
      const found = await esbuild.resolve(path, { kind, importer, resolveDir, pluginData: later })
      return found.errors.length > 0 || found.external || isModule(found.path) ? found : { path, external: true }
    })
  },
}

/** Returns whether Node treats a file as an ES module: by its extension, else by the nearest package.json. */
function isModule(file: string): boolean {
  if (/\.[cm]js$/.test(file)) return file.endsWith('.mjs')
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest)) return JSON.parse(readFileSync(manifest, 'utf8')).type === 'module'
  }
  return false
}

async function main() {
  if (process.argv.includes('--if-stale') && builtProgram(root)) return
  // A source that changes from now on is newer than this build.
  const builtAt = Date.now()
  const name = `${builtAt.toString(36)}-${process.pid}`
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['bin/main.ts'],
    outdir: join(output, name),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    keepNames: true, // MikroORM and error classes need their names.
    legalComments: 'none',
    external: ['*.node', 'better-sqlite3', 'pg-native', 'tinyglobby', 'dataloader'],
    // The bundled CommonJS packages need `require`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    plugins: [places, lean, later],
    metafile: true,
    logLevel: 'warning',
  })
  const own = Object.keys(metafile.inputs).filter((input) => !input.includes('node_modules') && !input.includes(':'))
  const inputs = ['build/program.ts', 'package-lock.json', ...own.sort()]
  const scratch = join(output, `.${name}`)
  writeFileSync(scratch, JSON.stringify({ entry: `${name}/main.js`, builtAt, inputs }))
  renameSync(scratch, join(output, 'current.json'))
  for (const entry of readdirSync(output)) {
    const at = join(output, entry)
    if (basename(entry) === 'current.json' || entry === name) continue
    if (builtAt - statSync(at).mtimeMs > KEEP_MS) rmSync(at, { recursive: true, force: true })
  }
  process.stdout.write(`${FOLDER}: ${own.length} sources in ${Date.now() - builtAt} ms\n`)
}

mkdirSync(output, { recursive: true })
await main()
