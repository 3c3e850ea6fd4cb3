// What `npm run release` publishes. It takes minutes and asks npm for Node's other platforms, so `npm test` leaves it out.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { timeLimit } from '../kit/time-limit.ts'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = join(root, 'dist/release', version)

/** Format and processor of an executable, by its first bytes. */
function kindOf(file: string): string {
  const head = Buffer.alloc(4096)
  const handle = openSync(file, 'r')
  readSync(handle, head)
  closeSync(handle)
  if (head.readUInt32BE(0) === 0x7f454c46) return `ELF ${head.readUInt16LE(18).toString(16)}`
  if (head.readUInt32LE(0) === 0xfeedfacf) return `Mach-O ${head.readUInt32LE(4).toString(16)}`
  const pe = head.readUInt32LE(0x3c)
  return `PE ${head.toString('latin1', pe, pe + 2) === 'PE' ? head.readUInt16LE(pe + 4).toString(16) : '?'}`
}

t.setTimeout(timeLimit(1500))

t.test('a release', async (t) => {
  // The runner takes a process that is silent for five minutes for a hanging one, so this one goes on meanwhile.
  const build = spawn(process.execPath, [join(root, 'build/release.ts')], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [errors, [status]] = await Promise.all([text(build.stderr), once(build, 'exit')])
  t.equal(status, 0, errors)
  const at = (name: string) => join(folder, name)
  const binaries = {
    [`gameyard-${version}-linux-x64`]: 'ELF 3e',
    [`gameyard-${version}-linux-arm64`]: 'ELF b7',
    [`gameyard-${version}-macos-x64`]: 'Mach-O 1000007',
    [`gameyard-${version}-macos-arm64`]: 'Mach-O 100000c',
    [`gameyard-${version}-windows-x64.exe`]: 'PE 8664',
  }
  for (const [name, kind] of Object.entries(binaries)) t.equal(kindOf(at(name)), kind, name)
  const clients = ['adapter', 'browser', 'engines', 'room', 'sdk'].map((name) => `gameyard-${name}-${version}.tgz`)
  const bill = `gameyard-${version}.cdx.json`
  const deploy = `gameyard-${version}-deploy.tar.gz`
  t.same(readdirSync(folder).sort(), [...Object.keys(binaries), ...clients, bill, deploy, 'SHA256SUMS'].sort())
  const forOperators = String(execFileSync('tar', ['-tzf', at(deploy)])).split('\n')
  for (const path of ['deploy/gameyard.service', 'deploy/nginx.conf', 'config/files/single-server.yaml'])
    t.ok(forOperators.includes(path), path)
  t.equal(String(execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder })), '')

  const { bomFormat, components } = JSON.parse(readFileSync(at(bill), 'utf8'))
  const names = components.map((component: { name: string }) => component.name)
  t.equal(bomFormat, 'CycloneDX')
  t.ok(names.includes('fastify') && names.includes('better-sqlite3'), 'what is in the program')
  t.notOk(names.includes('tap'), 'not what it was made with')

  const here = at(`gameyard-${version}-linux-${process.arch}`)
  if (process.platform !== 'linux') return
  t.match(String(execFileSync(here, ['--version'])), version)
  // The scenarios whose platform is a process of its own, run once more by the published binary.
  for (const scenario of ['first-game', 'cluster.long', 'failures', 'proxies', 'lan-jam.long']) {
    const file = join(import.meta.dirname, `${scenario}.test.ts`)
    await t.spawn(
      process.execPath,
      [file],
      { env: { ...process.env, GAMEYARD_BINARY: here } },
      `${scenario}, from the binary`,
    )
  }
})
