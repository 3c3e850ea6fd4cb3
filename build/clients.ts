/**
 * `npm run build:clients`: the packages that game developers install, from `clients/` into `dist/clients/`, each ready
 * for `npm publish`: JavaScript modules, their types, README, licence and a package.json with the platform's version. They
 * are also packed into `dist/packages/` (build/client-packages.ts).
 *
 *   npx node build/clients.ts              builds
 *   npx node build/clients.ts --if-stale   builds only when a source is newer than the last build
 */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hasPackages, packBuiltClients } from './client-packages.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'dist/clients')
const { version } = readJson('package.json') as { version: string }

/** The libraries and types of each package, besides the language. The SDK must not use names that only Node has. */
const packages: Record<string, { lib: string[]; types: string[] }> = {
  adapter: { lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'] },
  browser: { lib: ['es2024', 'esnext', 'dom', 'dom.iterable'], types: [] },
  room: { lib: ['es2022'], types: [] },
  sdk: { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] },
}

/** Packages whose files are published as they are. */
const plain = ['engines']

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

function isStale(): boolean {
  const builtAt = statSync(join(output, 'built'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const watched = globSync(['clients/**/*', '{core,plugins}/**/*.ts', 'build/clients.ts', 'package.json', 'LICENSE'], {
    cwd: root,
  })
  return !hasPackages() || watched.some((path) => statSync(join(root, path)).mtimeMs > builtAt)
}

/**
 * Compiles a package's modules separately, so that bundlers can omit unused ones: those that it exports, and what these
 * import. Scripts that only the platform serves are not published.
 */
function compile(name: string, { lib, types }: { lib: string[]; types: string[] }, to: string): void {
  const config = join(to, 'tsconfig.json')
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        target: 'es2022',
        lib,
        types,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        rootDir: join(root, 'clients', name),
        outDir: to,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: [],
      files: entriesOf(name),
    }),
  )
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/lib/tsc.js'), '-p', config], { stdio: 'inherit' })
  rmSync(config)
  for (const path of globSync('**/*.d.ts', { cwd: to })) {
    const text = readFileSync(join(to, path), 'utf8')
    writeFileSync(join(to, path), text.replace(/(from |import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2'))
  }
}

/** Returns the sources of what a package exports. */
function entriesOf(name: string): string[] {
  const { exports } = readJson(`clients/${name}/package.json`) as {
    exports: Record<string, string | Record<string, string>>
  }
  const built = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
  const sources = built.filter((path) => /\.js$/.test(path)).map((path) => path.replace(/\.js$/, '.ts'))
  return [...new Set(sources)].map((path) => join(root, 'clients', name, path))
}

function buildPackage(name: string, how: { lib: string[]; types: string[] } | null): void {
  // The package is built in a temporary folder, so that a concurrent `npm pack` gets the previous build.
  const scratch = `${join(output, name)}.${process.pid}`
  mkdirSync(scratch, { recursive: true })
  if (how) compile(name, how, scratch)
  else cpSync(join(root, 'clients', name), scratch, { recursive: true })
  const manifest = readJson(`clients/${name}/package.json`) as object
  writeFileSync(join(scratch, 'package.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`)
  cpSync(join(root, 'clients', name, 'README.md'), join(scratch, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(scratch, 'LICENSE'))
  mkdirSync(dirname(join(output, name)), { recursive: true })
  rmSync(join(output, name), { recursive: true, force: true })
  renameSync(scratch, join(output, name))
}

if (!process.argv.includes('--if-stale') || isStale()) {
  const started = performance.now()
  execFileSync(process.execPath, [join(root, 'build/openapi-types.ts'), '--if-stale'], { stdio: 'inherit' })
  for (const [name, how] of Object.entries(packages)) buildPackage(name, how)
  for (const name of plain) buildPackage(name, null)
  writeFileSync(join(output, 'built'), `${version}\n`)
  packBuiltClients()
  console.log(
    `dist/clients: ${[...Object.keys(packages), ...plain].join(', ')} in ${Math.round(performance.now() - started)} ms`,
  )
}
