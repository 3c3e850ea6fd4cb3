/**
 * Packs the packages that the platform offers at `/download`, as `npm pack` does, into `dist/packages/`.
 *
 *   npx node build/client-packages.ts                  with types, by build/clients.ts, where the compiler is installed
 *   npx node build/client-packages.ts --without-types  JavaScript only, in a moment; what is there and current stays
 *   npx node build/client-packages.ts --if-stale       only when a source is newer than the last packages
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { transformSync } from 'esbuild'
import { paddingOf, TAR_END_BYTES, tarHeader } from '../clients/sdk/tar.ts'
import { CLIENT_PACKAGES, clientPackageFile } from '../core/data/client-packages.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, 'dist/packages')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** The contents of a package by path. */
type Files = Map<string, Buffer>

/** Whether the packages have been made, with types or without. */
export const hasPackages = (): boolean => existsSync(join(output, 'built'))

/** Packs the folders in `dist/clients`, which build/clients.ts has written. */
export function packBuiltClients(): void {
  for (const name of CLIENT_PACKAGES) write(name, filesIn(join(root, 'dist/clients', name)))
  writeFileSync(join(output, 'built'), 'with types\n')
}

function filesIn(folder: string): Files {
  const paths = globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]))
}

/** Returns a package from its sources, without declarations. Those of a package of types only are its sources. */
function withoutTypes(name: string): Files {
  const files: Files = new Map()
  for (const [path, bytes] of filesIn(join(root, 'clients', name))) {
    if (!path.endsWith('.ts')) files.set(path, bytes)
    else {
      const { code: script } = transformSync(String(bytes), { loader: 'ts', format: 'esm', target: 'es2022' })
      const code = script.replace(/(from |import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2')
      files.set(path.replace(/\.ts$/, '.js'), Buffer.from(code))
      if (name === 'room') files.set(path.replace(/\.ts$/, '.d.ts'), bytes)
    }
  }
  const manifest = JSON.parse(String(files.get('package.json')))
  files.set('package.json', Buffer.from(`${JSON.stringify(Object.assign(manifest, { version }), null, 2)}\n`))
  files.set('LICENSE', readFileSync(join(root, 'LICENSE')))
  return files
}

/** Writes a package. The same files give the same bytes, which npm records. */
function write(name: string, files: Files): void {
  mkdirSync(output, { recursive: true })
  const entries = [...files].sort(([a], [b]) => (a < b ? -1 : 1))
  const parts = entries.flatMap(([path, bytes]) => [
    tarHeader(`package/${path}`, bytes.length),
    bytes,
    Buffer.alloc(paddingOf(bytes.length)),
  ])
  const file = join(output, clientPackageFile(name))
  writeFileSync(
    `${file}.${process.pid}`,
    gzipSync(Buffer.concat([...parts, Buffer.alloc(TAR_END_BYTES)]), { level: 9 }),
  )
  renameSync(`${file}.${process.pid}`, file)
}

const hasCompiler = existsSync(join(root, 'node_modules/typescript/package.json'))
const withTypes = hasCompiler && !process.argv.includes('--without-types')

function isStale(): boolean {
  if (withTypes && hasPackages() && readFileSync(join(output, 'built'), 'utf8') === 'without types\n') return true
  const builtAt = statSync(join(output, 'built'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return globSync(['clients/**/*', 'build/client-packages.ts', 'package.json', 'LICENSE'], { cwd: root }).some(
    (path) => statSync(join(root, path)).mtimeMs > builtAt,
  )
}

if (import.meta.main && (!process.argv.includes('--if-stale') || isStale())) {
  if (withTypes) execFileSync(process.execPath, [join(root, 'build/clients.ts')], { stdio: 'inherit' })
  else {
    for (const name of CLIENT_PACKAGES) write(name, withoutTypes(name))
    writeFileSync(join(output, 'built'), 'without types\n')
  }
}
