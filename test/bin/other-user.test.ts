// Commands of another user than the one whose data folder it is.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GAMEYARD } from '../kit/gameyard.ts'
import { run, temporaryFolder } from './program.ts'

const SERVICE = 10_001
const isRoot = process.getuid?.() === 0
const skip = isRoot && existsSync('/usr/bin/bwrap') ? false : 'another user takes root and bubblewrap'

/** Another user without any rights of root. To that user the owner of the data folder is nobody. */
const SOMEBODY = ['bwrap', '--unshare-user', '--uid', '1000', '--gid', '1000', '--bind', '/', '/', '--dev', '/dev']

t.test('a user who may not read the data folder learns whose it is', { skip }, async (t) => {
  const cwd = temporaryFolder(t)
  chmodSync(cwd, 0o777)
  const data = join(cwd, 'data')
  mkdirSync(data)
  writeFileSync(join(data, 'gameyard.db'), '')
  writeFileSync(join(cwd, 'gameyard.yaml'), 'blender: { driver: none }\n')
  writeFileSync(join(cwd, 'target.yaml'), 'dataDir: ./target\n')
  for (const path of [data, join(data, 'gameyard.db')]) chownSync(path, SERVICE, SERVICE)
  chmodSync(data, 0o700)
  const command = [...SOMEBODY, ...GAMEYARD]
  const whose =
    /^\S+\/data belongs to nobody, and this command runs as \S+\. Run it as that user: sudo -u nobody gameyard …[^\n]*\n$/m
  for (const words of [
    ['backup', 'copy.tar'],
    ['move', '--to', 'target.yaml'],
  ])
    t.match(await run(t, words, { cwd, command }), { code: 1, stderr: whose }, words.join(' '))
  t.match(
    await run(t, ['move', '--to', 'target.yaml'], { cwd }),
    { code: 1, stderr: /data belongs to 10001, and this command runs as root\. .*: sudo -u '#10001' gameyard …\n$/ },
    'the service could not read what root makes',
  )
  t.same(readdirSync(cwd).sort(), ['data', 'gameyard.yaml', 'target.yaml'])

  const doctor = await run(t, ['doctor', '--json'], { cwd, command })
  t.equal(doctor.code, 1)
  const { checks } = JSON.parse(doctor.stdout)
  t.match(checks.at(-1), {
    name: 'Data folder',
    status: 'failed',
    message: /data belongs to nobody, and this command runs as \S+$/,
    hint: /^Run it as that user: sudo -u nobody gameyard …/,
  })
  t.same(
    checks.filter(({ message }: { message: string }) => /none yet/.test(message)),
    [],
    'nothing is said to be missing that this user may not see',
  )

  chmodSync(data, 0o755)
  const reader = await run(t, ['doctor', '--json'], { cwd, command })
  t.notMatch(reader.stdout, /chown/, 'the folder is not taken away from the service')

  for (const path of [data, join(data, 'gameyard.db')]) chownSync(path, 0, 0)
  chmodSync(cwd, 0o700)
  chownSync(cwd, SERVICE, SERVICE)
  const outside = await run(t, ['backup', '--data', data, '/tmp/never.tar'], { cwd: '/', command })
  t.match(outside, { code: 1, stderr: /^\w+ may not look into the folder of \S+\. Run the same command as the user/ })
  t.equal(statSync(data).uid, 0)
})
