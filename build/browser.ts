/**
 * Builds the files that browsers load: styles, fonts, pictures and scripts, from the sources into `dist/browser/`,
 * under names that contain a digest of the content. Brotli and gzip forms are beside them, and `manifest.json` maps
 * names to files. The programs of the server's worker threads are built here too, each bundled into one text.
 *
 *   npx node build/browser.ts              builds
 *   npx node build/browser.ts --if-stale   builds only when a source is newer than the last build
 */
import { createHash } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { type BrowserManifest, browserFileNames } from '../core/data/built-files.ts'
import { drawIcons } from './icons.ts'
import { withoutEval } from './without-eval.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'dist/browser')

/** All files that pages load, by the names that pages use. */
const styles = { styles: 'core/pages/styles/index.css' }
const scripts = ['core/pages/islands/page.ts', 'clients/browser/*.ts', 'plugins/*/islands/*.ts']
/** Scripts that pages load without `type=module`; all others are modules. */
const classic = ['widget', 'errors', 'frame-session', 'frame-worker', 'draft-console'].map(
  (name) => `clients/browser/${name}.ts`,
)
const workers = ['core/*/workers/*.ts', 'plugins/*/workers/*.ts', 'drivers/*/workers/*.ts']
const pictures = ['core/pages/pictures/*.svg', 'starters/pictures/*.jpg']
/** The decoders of the model viewer, for Draco meshes and KTX2 textures. */
const decoders = [
  'draco/gltf/draco_wasm_wrapper.js',
  'draco/gltf/draco_decoder.wasm',
  'basis/basis_transcoder.js',
  'basis/basis_transcoder.wasm',
]
const fonts = ['bricolage-grotesque', 'instrument-sans', 'jetbrains-mono']
const watched = [
  'build/{browser,icons,without-eval}.ts',
  'core/images/*.ts',
  'core/pages/covers/*.ts',
  'plugins/*/cards/*.ts',
  'package-lock.json',
  'core/pages/{styles,islands,pictures}/**',
  'starters/pictures/*',
  ...scripts,
  'plugins/*/islands/**/*.ts',
  ...workers,
  'plugins/*/models/**/*.ts',
  'plugins/*/media/**/*.ts',
  'plugins/*/scripts/**',
  'clients/**/*.ts',
]

/** The browser versions of the last three years. */
const target = ['chrome119', 'edge119', 'firefox120', 'safari17']

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  ico: 'image/x-icon',
  jpg: 'image/jpeg',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  wasm: 'application/wasm',
  woff2: 'font/woff2',
}

const find = (patterns: string[]) => patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()
const deflate = { br: promisify(brotliCompress), gzip: promisify(gzip) }

function isStale(): boolean {
  const builtAt = statSync(join(output, 'manifest.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return find(watched).some((path) => statSync(join(root, path)).mtimeMs > builtAt)
}

/** Bundles and minifies. File names contain esbuild's own digest of the content. */
async function bundle(): Promise<Map<string, { file: string; bytes: Uint8Array }>> {
  const shared = {
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: output,
    publicPath: '/_assets',
    entryNames: '[name].[hash]',
    assetNames: '[name].[hash]',
    legalComments: 'none',
    logLevel: 'warning',
  } as const
  const scriptPaths = find(scripts)
  const names = scriptPaths.map((path) => basename(path, '.ts'))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw new Error(`Two scripts are called ${twice}.ts; rename one, since pages load them by that name.`)
  const modules = scriptPaths.filter((path) => !classic.includes(path))
  const built = await Promise.all([
    build({ ...shared, entryPoints: styles, target, loader: { '.woff2': 'file' } }),
    build({ ...shared, entryPoints: modules, format: 'esm', target, platform: 'browser' }),
    build({ ...shared, entryPoints: classic, format: 'iife', target, platform: 'browser' }),
  ])
  const files = new Map<string, { file: string; bytes: Uint8Array }>()
  for (const { outputFiles } of built) {
    for (const { path, contents } of outputFiles) {
      const file = basename(path)
      files.set(file.replace(/\.[A-Z0-9]{8}(?=\.\w+$)/, ''), { file, bytes: contents })
    }
  }
  return files
}

/** Builds one CommonJS text per worker for Node, with WebAssembly inside it. */
async function bundleWorkers(): Promise<{ name: string; file: string; bytes: Uint8Array }[]> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: find(workers),
    bundle: true,
    minify: true,
    keepNames: true,
    write: false,
    outdir: output,
    entryNames: '[name].[hash]',
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    loader: { '.wasm': 'binary', '.woff2': 'binary' },
    // The variant for Node requires a native library. The only package that uses it calls nothing that needs either.
    alias: { 'ndarray-pixels': join(root, 'node_modules/ndarray-pixels/dist/ndarray-pixels-browser.js') },
    // Some libraries look for files beside themselves; here these files are in the bundle.
    define: { 'import.meta.url': '"file:///"' },
    legalComments: 'none',
    logLevel: 'error',
  })
  return outputFiles.map(({ path, contents }) => {
    const file = `worker-${basename(path)}`
    return { name: basename(path).replace(/\.[A-Z0-9]{8}\.js$/, ''), file, bytes: contents }
  })
}

/** Returns pictures and decoders unchanged, and the licence that must accompany the fonts. */
async function plainFiles(): Promise<[string, Uint8Array][]> {
  const licences = fonts.map(async (font): Promise<[string, Uint8Array]> => {
    const text = await readFile(join(root, 'node_modules/@fontsource-variable', font, 'LICENSE'))
    return [`${font}-license.txt`, text]
  })
  const drawn = find(pictures).map(
    async (path): Promise<[string, Uint8Array]> => [basename(path), await readFile(join(root, path))],
  )
  const unpackers = decoders.map(async (path): Promise<[string, Uint8Array]> => {
    const bytes = await readFile(join(root, 'node_modules/three/examples/jsm/libs', path))
    const text = path.endsWith('basis_transcoder.js') ? withoutEval(bytes.toString()) : null
    return [basename(path), text === null ? bytes : Buffer.from(text)]
  })
  return Promise.all([...drawn, ...licences, ...unpackers])
}

/** Writes a file atomically. */
async function put(name: string, bytes: Uint8Array): Promise<void> {
  const scratch = join(output, `.${name}.${process.pid}`)
  await writeFile(scratch, bytes)
  await rename(scratch, join(output, name))
}

async function main() {
  if (process.argv.includes('--if-stale') && !isStale()) return
  const started = performance.now()
  const files = await bundle()
  for (const [name, bytes] of [...(await plainFiles()), ...(await drawIcons())]) {
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
    files.set(name, { file: name.replace(/(\.\w+)$/, `.${digest}$1`), bytes })
  }

  // New files are written first, then the manifest, and old files are removed last. The files of the previous build
  // stay for one more build, so a server that starts meanwhile finds every file of the manifest that it read.
  await mkdir(output, { recursive: true })
  const manifest: BrowserManifest = { files: {}, workers: {} }
  for (const { name, file, bytes } of await bundleWorkers()) {
    manifest.workers[name] = file
    await put(file, bytes)
  }
  await Promise.all(
    [...files].map(async ([name, { file, bytes }]) => {
      const encodings: ('br' | 'gzip')[] = /\.(woff2|png|jpg|ico)$/.test(file) ? [] : ['br', 'gzip']
      const contentType = types[file.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
      manifest.files[name] = { file, contentType, encodings }
      await put(file, bytes)
      if (encodings.length === 0) return
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
      await put(`${file}.br`, await deflate.br(bytes, { params }))
      await put(`${file}.gz`, await deflate.gzip(bytes, { level: 9 }))
    }),
  )
  const before = await readFile(join(output, 'manifest.json'), 'utf8').catch(() => '{"files":{},"workers":{}}')
  manifest.files = Object.fromEntries(Object.entries(manifest.files).sort(([a], [b]) => (a < b ? -1 : 1)))
  await put('manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`))
  const wanted = new Set([...browserFileNames(manifest), ...browserFileNames(JSON.parse(before) as BrowserManifest)])
  for (const name of await readdir(output)) {
    // A name with a leading dot may belong to another running build.
    if (!wanted.has(name) && !name.startsWith('.')) await rm(join(output, name), { force: true })
  }
  const took = Math.round(performance.now() - started)
  process.stdout.write(`dist/browser: ${Object.keys(manifest.files).length} files in ${took} ms\n`)
}

await main()
