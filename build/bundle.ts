import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..')

/**
 * Bundles a program of this repository and its packages into a few files, which start in two thirds of the time of the
 * sources. Code that is imported dynamically stays in files of its own.
 *
 * @param entry the program's path from the root
 * @param outdir an absolute path of a folder three levels below the root
 * @returns what esbuild has read and written
 */
export function bundle(entry: string, outdir: string) {
  return build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    keepNames: true, // MikroORM and error classes need their names.
    legalComments: 'none',
    external: ['*.node', 'better-sqlite3', 'pg-native', 'tinyglobby', 'dataloader'],
    // The bundled CommonJS packages need `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    plugins: [places, lean, later],
    metafile: true,
    logLevel: 'warning',
  })
}

/** Keeps the paths of sources that look for files beside themselves valid in the bundle, three folders below the root. */
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
