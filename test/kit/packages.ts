import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Test } from 'tap'

const root = resolve(import.meta.dirname, '../..')
const modules = join(root, 'node_modules')

/** The output of `npm pack` for a package in `dist/clients`. */
export interface Packed {
  name: string
  tarball: string
  /** The paths in the package. */
  files: string[]
  /** The size of the tarball in bytes. */
  size: number
}

/** Builds the packages if a source is newer, and packs one as `npm publish` would. */
export function packClient(t: Test, name: string): Packed {
  const env = plainEnvironment()
  execFileSync(process.execPath, [join(root, 'build/clients.ts'), '--if-stale'], {
    env,
    stdio: ['ignore', 'ignore', 2],
  })
  const folder = temporaryFolder(t)
  const said = npm(['pack', '--json', '--pack-destination', folder, join(root, 'dist/clients', name)], folder)
  const [packed] = JSON.parse(said) as { name: string; filename: string; files: { path: string }[]; size: number }[]
  if (!packed) throw new Error('npm packed nothing.')
  const files = packed.files.map(({ path }) => path)
  return { name: packed.name, tarball: join(folder, packed.filename), files, size: packed.size }
}

export interface FreshProject {
  folder: string
  /** Writes files, given by path. */
  write(files: Record<string, string>): void
}

/**
 * Creates a project outside the repository, with packed packages installed by npm as a developer would. Other packages
 * are copied, with their dependencies, from those of the repository, so nothing is downloaded.
 */
export function freshProject(t: Test, packed: Packed[], others: string[] = []): FreshProject {
  const folder = temporaryFolder(t)
  const write = (files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
  }
  write({ 'package.json': JSON.stringify({ name: 'game', private: true, type: 'module' }) })
  const needed = new Set<string>()
  for (const { tarball } of packed) {
    const manifest = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })
    for (const name of Object.keys((JSON.parse(manifest) as Manifest).dependencies ?? {})) needed.add(name)
  }
  const sources = [...packed.map(({ tarball }) => tarball), ...[...needed].map((name) => join(modules, name))]
  npm(['install', '--offline', '--ignore-scripts', '--install-links', '--no-audit', '--no-fund', ...sources], folder)
  for (const path of closureOf(others)) copy(join(modules, path), join(folder, 'node_modules', path))
  return { folder, write }
}

/**
 * Creates a project like `freshProject`, but copies the built packages instead of packing and installing them, which
 * spares four runs of npm. `npm test` has built them.
 */
export function linkedProject(t: Test, clients: string[], others: string[] = []): string {
  const folder = temporaryFolder(t)
  const needed = new Set(others)
  for (const client of clients) {
    const built = join(root, 'dist/clients', client)
    const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8')) as Manifest & { name: string }
    for (const name of Object.keys(manifest.dependencies ?? {})) needed.add(name)
    copy(built, join(folder, 'node_modules', manifest.name))
  }
  for (const path of closureOf([...needed])) copy(join(modules, path), join(folder, 'node_modules', path))
  return folder
}

interface Manifest {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/**
 * Returns the folders in `node_modules` of packages and all their dependencies. A nested dependency is part of its
 * parent.
 */
function closureOf(names: string[]): Set<string> {
  const found = new Set<string>()
  const visit = (name: string) => {
    if (found.has(name) || !existsSync(join(modules, name))) return
    found.add(name)
    const read = (folder: string) => JSON.parse(readFileSync(join(modules, folder, 'package.json'), 'utf8')) as Manifest
    const manifests = [read(name)]
    const nested = join(modules, name, 'node_modules')
    if (existsSync(nested)) {
      for (const inner of readdirSync(nested)) {
        if (existsSync(join(nested, inner, 'package.json'))) manifests.push(read(`${name}/node_modules/${inner}`))
      }
    }
    for (const { dependencies, optionalDependencies } of manifests) {
      for (const other of Object.keys({ ...dependencies, ...optionalDependencies })) {
        // Sign-in needs no images, and the addon of `sharp` is large.
        if (other !== 'sharp' && !existsSync(join(nested, other))) visit(other)
      }
    }
  }
  names.forEach(visit)
  return found
}

/** Copies a folder, with hard links if both are on one disk: Next alone is 150 MB. */
function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  try {
    execFileSync('cp', ['-al', from, to], { stdio: 'ignore' })
  } catch {
    rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to])
  }
}

/**
 * Returns the environment without variables of the test runner and an outer npm, which would affect the child programs.
 */
export function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|TAP|SERVICE_)/.test(name)))
}

function npm(arguments_: string[], cwd: string): string {
  return execFileSync('npm', arguments_, {
    cwd,
    env: plainEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-package-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
