// The unit and the configuration that the project ships, together, in the sandbox that the unit describes.
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasPrograms } from '../kit/components.ts'
import { ALL } from '../kit/extent.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { freePort } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { run, start, temporaryFolder } from './program.ts'
import { shippedConfiguration, UNIT } from './shipped-files.ts'

const CONFIG = '/etc/gameyard/gameyard.yaml'

/** Mounts everything in a folder for reading, except what has a place of its own. */
function mounts(folder: string, except: string[]): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (except.includes(path)) return []
    return entry.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}

/** A machine on which the unit is installed. Returns the command that runs `gameyard` there, as its sandbox allows. */
async function machine(t: Test, unit: string) {
  const folder = temporaryFolder(t)
  for (const name of ['state', 'etc', 'system', 'backups', 'cwd']) mkdirSync(join(folder, name), { mode: 0o700 })
  writeFileSync(join(folder, 'etc/gameyard.yaml'), shippedConfiguration(await freePort()))
  writeFileSync(join(folder, 'system/gameyard.service'), unit)
  const writable = [...unit.matchAll(/^ReadWritePaths=-?(.*)$/gm)].map(([, path]) => path as string)
  const sandbox = [
    ...mounts('/', ['/etc', '/var', '/mnt', '/proc', '/dev']),
    ...mounts('/etc', ['/etc/gameyard', '/etc/systemd']),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--dir',
    '/var/lib',
    '--dir',
    '/mnt',
    '--ro-bind',
    join(folder, 'etc'),
    '/etc/gameyard',
    '--ro-bind',
    join(folder, 'system'),
    '/etc/systemd/system',
    '--bind',
    join(folder, 'state'),
    '/var/lib/gameyard',
    '--ro-bind',
    join(folder, 'backups'),
    '/mnt/backups',
    ...writable.flatMap((path) => ['--bind', join(folder, 'backups'), path]),
    '--bind',
    join(folder, 'cwd'),
    '/home-of-nobody',
    '--remount-ro',
    '/',
    '--chdir',
    '/home-of-nobody',
    '--die-with-parent',
    '--setenv',
    'TMPDIR',
    '/var/lib/gameyard',
  ]
  return { command: ['bwrap', ...sandbox, ...GAMEYARD], cwd: join(folder, 'cwd'), backups: join(folder, 'backups') }
}

t.test('the shipped unit and configuration make backups, and doctor says so', async (t) => {
  if (!hasPrograms(t, 'bwrap')) return
  const { command, cwd, backups } = await machine(t, UNIT)
  const server = start(t, ['serve', '--config', CONFIG], { command })
  await until(() => server.output().stdout.includes('backup made and verified'))
  t.match(readdirSync(backups), [/^gameyard-.*\.tar$/])
  const doctor = await run(t, ['doctor', '--config', CONFIG, '--json'], { command })
  const { checks } = JSON.parse(doctor.stdout)
  t.match(
    checks.find(({ name }: { name: string }) => name === 'Backups'),
    { status: 'ok', message: 'scheduled, to /mnt/backups' },
  )

  const role = await run(t, ['admin', 'role', '--email', 'ada@example.org', '--role', 'admin'], { command })
  t.match(
    role,
    { code: 1, stderr: /data in \/var\/lib\/gameyard\n.*no such player/s },
    'the installed platform is found',
  )
  t.match(await run(t, ['keys', 'rotate'], { command }), { code: 0, stderr: /data in \/var\/lib\/gameyard\n/ })
  t.same(readdirSync(cwd), [])
})

t.test('a folder for backups that the unit forbids is said at the start, and by doctor', async (t) => {
  if (!hasPrograms(t, 'bwrap')) return
  const { command } = await machine(t, UNIT.replace(/^ReadWritePaths=.*\n/m, ''))
  if (ALL) {
    const server = start(t, ['serve', '--config', CONFIG], { command })
    await until(() => server.output().stdout.includes('the destination of the scheduled backups cannot be used'))
  }
  const doctor = await run(t, ['doctor', '--config', CONFIG, '--json'], { command })
  const { checks } = JSON.parse(doctor.stdout)
  t.match(
    checks.find(({ name }: { name: string }) => name === 'Backups'),
    { status: 'failed', message: /may not write to \/mnt\/backups/, hint: /ReadWritePaths=-\/mnt\/backups/ },
  )
})

t.test('a command that needs a platform makes none', async (t) => {
  const account = ['--email', 'ada@example.org']
  const commands = [
    ['admin', 'create', ...account, '--name', 'Ada'],
    ['admin', 'quota', 'ada@example.org'],
    ['backup', 'yard.tar'],
    ['admin', 'role', ...account, '--role', 'admin'],
    ['admin', 'trust', 'ada@example.org'],
    ['admin', 'reports', 'list'],
    ['keys', 'rotate'],
  ]
  const cwd = temporaryFolder(t)
  for (const words of ALL ? commands : commands.slice(0, 3)) {
    const refused = await run(t, words, { cwd })
    t.match(
      refused,
      { code: 1, stdout: '', stderr: /^There is no platform with its data in .*--config.*\n$/ },
      words.join(' '),
    )
  }
  t.same(readdirSync(cwd), [])
  // A folder with the name of the default is no platform yet.
  mkdirSync(join(cwd, 'data'))
  t.match(await run(t, ['keys', 'rotate'], { cwd }), { code: 1, stderr: /There is no platform/ })
  t.same(readdirSync(join(cwd, 'data')), [])
})
