import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { amount, inFull } from '../kit/extent.ts'
import { GAMEYARD } from '../kit/gameyard.ts'
import { freePort } from '../kit/server.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { run, start, temporaryFolder } from './program.ts'

async function serve(t: Test, cwd: string, data = 'data') {
  const port = await freePort()
  const server = start(t, ['serve', '--port', String(port), '--data', data], { cwd })
  await server.says('"ready"')
  return { ...server, port }
}

const held = (cwd: string) => JSON.parse(readFileSync(join(cwd, 'data', 'lock'), 'utf8'))

t.test('a second server on a data folder is refused in one sentence that names the first', async (t) => {
  const cwd = temporaryFolder(t)
  const before = new Date().toISOString()
  const first = await serve(t, cwd)
  const { pid, host, startedAt, address } = held(cwd)
  t.equal(host, hostname())
  t.equal(address, `http://localhost:${first.port}`)
  t.ok(before <= startedAt && startedAt <= new Date().toISOString(), startedAt)
  t.doesNotThrow(() => process.kill(pid, 0), 'the process is there')
  const since = startedAt.slice(0, 16).replace('T', ' ')
  const sentence = `The data folder ${join(cwd, 'data')} is served by process ${pid} on ${host} since ${since} UTC, at ${address}: stop that, or choose another folder with --data.\n`
  const second = ['serve', '--port', String(await freePort()), '--data', 'data']
  t.match(await run(t, second, { cwd }), { code: 1, stderr: sentence })
  t.same(held(cwd), { pid, host, startedAt, address }, 'and the first goes on')

  // In the short form backup.test.ts and admin.test.ts run these beside a server.
  await inFull(t)?.test('while commands work beside it', async (t) => {
    const same = ['serve', '--port', String(first.port), '--data', 'data']
    t.match(await run(t, same, { cwd }), { code: 1, stderr: sentence }, 'also where the port is taken, too')
    t.match(await run(t, ['backup', 'b.tar', '--data', 'data'], { cwd }), { code: 0 })
    const admin = ['admin', 'create', '--email', 'ada@example.org', '--name', 'Ada', '--data', 'data']
    const made = start(t, admin, { cwd })
    made.process.stdin?.end('correct yard battery fence\n')
    t.match(await made.ended, { code: 0 })
  })

  await t.test(
    'a container with process numbers of its own is refused, too',
    {
      skip: process.getuid?.() === 0 && process.platform === 'linux' ? false : 'only root has namespaces',
    },
    async (t) => {
      const env = { PATH: process.env.PATH, HOME: cwd }
      const apart = [
        '--pid',
        '--fork',
        '--kill-child',
        '--mount-proc',
        '--uts',
        'sh',
        '-c',
        'hostname elsewhere; exec "$@"',
        'sh',
      ]
      const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
        execFile(
          'unshare',
          [...apart, ...GAMEYARD, ...second],
          { cwd, env, timeout: timeLimit() },
          (error, _stdout, stderr) => resolve({ code: error?.code, stderr }),
        ),
      )
      t.match({ code, stderr }, { code: 1, stderr: sentence })
    },
  )

  await inFull(t)?.test('a copy of the folder is free, whatever its file says', async (t) => {
    cpSync(join(cwd, 'data'), join(cwd, 'copy'), { recursive: true })
    t.ok(existsSync(join(cwd, 'copy', 'lock')))
    const other = await serve(t, cwd, 'copy')
    other.process.kill('SIGTERM')
    t.match(await other.ended, { code: 0 })
  })

  await t.test('kill -9 leaves no data folder locked', async (t) => {
    const kill = async ({ ended }: Pick<typeof first, 'ended'>) => {
      const { pid } = held(cwd)
      process.kill(pid, 'SIGKILL')
      await ended
      t.equal(held(cwd).pid, pid, 'its name is still there')
    }
    await kill(first)
    for (let round = 0; round < amount(0, 2); round++) await kill(await serve(t, cwd))
    // A power cut may leave a truncated file.
    writeFileSync(join(cwd, 'data', 'lock'), '{"pid": 1')
    const server = await serve(t, cwd)
    server.process.kill('SIGTERM')
    t.match(await server.ended, { code: 0 })
    t.notOk(existsSync(join(cwd, 'data', 'lock')), 'who ends in order takes the name away')
  })
})
