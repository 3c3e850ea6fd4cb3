import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { absent } from './components.ts'
import { freePort } from './server.ts'
import { endWithParent } from './watchdog.ts'

const SERVER = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server'].find(
  existsSync,
)

export interface RedisServer {
  url: string
  /** Stops the server immediately, as in a crash. */
  stop(): Promise<void>
  /** Restarts it at the same address without data. */
  start(): Promise<void>
  /** Freezes the server: connections stay open, but nothing answers. `thaw` resumes it. */
  freeze(): void
  thaw(): void
}

/** Options for a test that needs Redis: it is reported as skipped where Redis is missing, and fails in CI. */
export const needsRedis = {
  skip: SERVER || process.env.CI === 'true' ? false : absent('redis-server'),
} as const

/**
 * Starts a real Redis on a free loopback port. It ends with the test.
 *
 * @param options further options of the program
 * @param file a configuration file, which a Sentinel needs
 */
export async function startRedis(
  t: Pick<Test, 'teardown'>,
  options: string[] = [],
  file?: string,
): Promise<RedisServer> {
  if (!SERVER) throw new Error(absent('redis-server'))
  const binary = SERVER
  const dir = await mkdtemp(join(tmpdir(), 'gameyard-redis-'))
  const port = await freePort()
  let server: ChildProcess | undefined

  const start = async () => {
    const started = spawn(
      binary,
      [
        ...(file === undefined ? [] : [file]),
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'],
        ...options,
      ],
      { stdio: 'ignore' },
    )
    server = endWithParent(started)
    while (!(await answers(port))) {
      if ((started.exitCode ?? started.signalCode) !== null) throw new Error('redis-server did not start')
      await sleep(25)
    }
  }
  const stop = async () => {
    const running = server
    server = undefined
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill('SIGKILL')
    await ended
  }
  t.teardown(async () => {
    await stop()
    await rm(dir, { recursive: true, force: true })
  })
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
