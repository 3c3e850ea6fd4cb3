import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { proxyMissing } from './proxy.ts'
import { freePort } from './server.ts'
import { until } from './until.ts'
import { endWithParent } from './watchdog.ts'

type PoolMode = 'session' | 'transaction' | 'statement'

/** Options for a test that needs PgBouncer: it is reported as skipped where PgBouncer is missing, and fails in CI. */
export const needsPgBouncer = { skip: proxyMissing('pgbouncer') } as const

/**
 * Starts PgBouncer with two connections to a database. It ends with the test.
 *
 * @param database URL of the database
 * @param options further lines of its configuration, and another program than Debian's
 * @returns the URL of the database through PgBouncer, and a function that changes how it shares its connections
 */
export async function startPgBouncer(
  t: Pick<Test, 'teardown'>,
  database: string,
  poolMode: PoolMode,
  { settings = '', program = 'pgbouncer' }: { settings?: string; program?: string } = {},
) {
  const { hostname, port: serverPort, username, password, pathname } = new URL(database)
  const name = pathname.slice(1)
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-pgbouncer-'))
  await chmod(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  const port = await freePort()
  const configure = (mode: PoolMode) =>
    writeFile(
      file,
      `[databases]
${name} = host=${hostname} port=${serverPort} dbname=${name} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 2
${settings}
`,
    )
  await configure(poolMode)
  // It refuses to run as root.
  const user = userInfo().uid === 0 ? ['-u', 'nobody'] : []
  const bouncer = spawn(program, [...user, file], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithParent(bouncer)
  let said = ''
  bouncer.stderr.on('data', (chunk) => (said += chunk))
  t.teardown(async () => {
    if (bouncer.exitCode === null && bouncer.signalCode === null) {
      const ended = once(bouncer, 'exit')
      bouncer.kill('SIGKILL')
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  })
  await until(() => {
    if (bouncer.exitCode !== null) throw new Error(`pgbouncer did not start: ${said}`)
    return said.includes('process up')
  })
  return {
    url: `postgres://${username}@127.0.0.1:${port}/${name}`,
    async share(mode: PoolMode) {
      await configure(mode)
      const before = said.length
      bouncer.kill('SIGHUP')
      await until(() => /got SIGHUP|RELOAD/i.test(said.slice(before)))
    },
  }
}
