// Root runs a command before the service has started for the first time.
import { chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, start, temporaryFolder } from './program.ts'

const skip = process.getuid?.() === 0 ? false : 'another user id takes root'
const SERVICE = 10_001

t.test("what root's commands make belongs to the owner of the data folder", { skip }, async (t) => {
  const cwd = temporaryFolder(t)
  const data = join(cwd, 'data')
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, SERVICE, SERVICE)
  writeFileSync(join(cwd, 'gameyard.yaml'), 'blender: { driver: none }\n')
  const doctor = await run(t, ['doctor', '--json'], { cwd })
  t.match(JSON.parse(doctor.stdout).checks, [{ name: 'Program' }, { name: 'Configuration' }])
  t.same(readdirSync(data), [], 'doctor makes nothing')

  const admin = start(t, ['admin', 'create', '--email', 'host@example.org', '--name', 'Host'], { cwd })
  admin.process.stdin?.end('correct yard battery fence\n')
  t.equal((await admin.ended).code, 0)
  const made = readdirSync(data, { recursive: true }) as string[]
  t.ok(made.includes('gameyard.db'))
  t.same(
    made.filter((name) => statSync(join(data, name)).uid !== SERVICE),
    [],
  )

  writeFileSync(join(data, 'of-root'), '')
  const after = await run(t, ['doctor', '--json'], { cwd })
  const [found] = JSON.parse(after.stdout).checks.filter(({ name }: { name: string }) => name === 'Data folder')
  t.match(found, { status: 'failed', message: /of-root belongs to another user/, hint: /chown -R 10001:10001/ })
})
