import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { absent } from './components.ts'
import { endWithParent } from './watchdog.ts'

/** The command line of a proxy from Debian's packages. */
export interface ProxyCommand {
  command: string
  arguments: string[]
  env?: NodeJS.ProcessEnv
}

/** The value for `skip` when the program is missing: the test is reported as skipped, and fails in CI. */
export const proxyMissing = (command: string): string | false => {
  const found = ['/usr/bin', '/usr/sbin', '/usr/local/bin'].some((folder) => existsSync(join(folder, command)))
  return found || process.env.CI === 'true' ? false : absent(command)
}

/**
 * Returns the command for nginx with a site's file. nginx writes only to the test's own folder.
 *
 * @param http further lines of the block `http`
 */
export function nginxCommand(folder: string, site: string, http = 'access_log off;'): ProxyCommand {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const main = `daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${http}\n${paths.join('\n')}\ninclude ${site};\n}\n`
  writeFileSync(join(folder, 'nginx.conf'), main)
  return { command: 'nginx', arguments: ['-p', folder, '-c', join(folder, 'nginx.conf')] }
}

/** Starts a proxy and waits until it listens. It ends with the test. */
export async function runProxy(
  t: Pick<Test, 'teardown'>,
  { command, arguments: given, env }: ProxyCommand,
  port: number,
) {
  const sbin = { PATH: `${process.env.PATH}:/usr/sbin` }
  const proxy = spawn(command, given, { env: { ...process.env, ...sbin, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  endWithParent(proxy, { signal: 'TERM' })
  let said = ''
  for (const stream of [proxy.stdout, proxy.stderr])
    stream.on('data', (chunk) => (said = (said + chunk).slice(-10_000)))
  t.teardown(async () => {
    proxy.kill('SIGTERM')
    if (proxy.exitCode === null) await new Promise((done) => proxy.once('exit', done))
  })
  while (!(await listens(port))) {
    if ((proxy.exitCode ?? proxy.signalCode) !== null) throw new Error(`${command} did not start: ${said}`)
    await sleep(50)
  }
}

const listens = (port: number) =>
  new Promise<boolean>((done) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      done(true)
    })
    socket.on('error', () => done(false))
  })
