import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { DataLock } from '../core/data/data-lock.ts'
import { StartupError } from '../core/errors.ts'
import { gamePortProblem } from '../core/origins/game-ports.ts'
import { portsOfGames } from '../plugins/games/index.ts'
import type { Installation } from './installation.ts'
import { argumentsOf, type ConfigOptions, loadProgramConfig } from './options.ts'
import { createPlatform, releaseMemoryAtRest, stopOnSignal } from './process.ts'

/**
 * Starts the platform and returns once it listens. From then on SIGTERM, SIGINT and SIGHUP end the process.
 *
 * @throws StartupError with one sentence when it can't start
 */
export async function startServer(options: ConfigOptions, installation: Installation): Promise<FastifyInstance> {
  const loaded = await loadWithPort(options)
  const { config } = loaded
  const { host, port } = config.listen
  if (config.backup.schedule) await assertSchedule(config.backup.schedule)
  const terminal = process.stdout.isTTY === true
  const app = await createPlatform(loaded, installation, terminal, {
    takeDataFolder: (warn) => takeDataFolder(config, warn),
    refuse: (database) => refuseTakenPorts(config, database),
  })
  try {
    if (config.backup.schedule) {
      const { scheduleBackups } = await import('./scheduled-backups.ts')
      const same = argumentsOf({ ...options, data: config.dataDir })
      await scheduleBackups(app, loaded, (file) => [
        ...installation.program,
        'backup',
        file,
        '--verify',
        '--json',
        ...same,
      ])
    }
    await app.listen({ host, port, listenTextResolver: () => `listening on ${host} port ${port}` })
    await app.gamePorts.listen()
    await app.httpsRedirects.listen()
  } catch (error) {
    await app.close()
    throw listenProblem(error as NodeJS.ErrnoException, host, port)
  }
  stopOnSignal(app, config.limits.shutdownSeconds)
  releaseMemoryAtRest()
  const addresses = {
    portal: config.portal.url,
    studio: config.studio.url,
    games: app.origins.byPort ? `a port each, from ${port + 1} on` : app.origins.game('<game>'),
  }
  const notes: [string, string][] = []
  const pictures: string[] = []
  for (const { label, text, picture } of app.announcements) {
    const note = await text()
    if (note) notes.push([label, note])
    if (terminal && picture) pictures.push(await picture())
  }
  if (terminal) process.stdout.write(banner(addresses, config.dataDir, notes) + pictures.join('\n'))
  else {
    for (const [label, note] of notes) app.log.info(`${label}: ${note}`)
    app.log.info({ ...addresses, dataDir: config.dataDir }, 'ready')
  }
  return app
}

/**
 * Checks, before anything is written, the causes that can refuse a start: another server has the data folder, or
 * another program has a port. If a start migrated the database and then failed, the previous version could not use the
 * database. The data folder comes first, because its error is clearer when somebody starts the same server twice.
 */
async function takeDataFolder({ dataDir, listen, portal }: Config, warn: (message: string) => void): Promise<DataLock> {
  const ports = [listen.port, listen.tls.redirectPort].filter((port) => port !== 0)
  const refused = await Promise.all(ports.map((port) => tryListening(listen.host, port))).then(
    () => null,
    (error: Error) => error,
  )
  if (refused && !existsSync(dataDir)) throw refused
  const lock = await DataLock.acquire(dataDir, { address: portal.url, clock: systemClock, warn })
  if (!refused) return lock
  lock.release()
  throw refused
}

/**
 * Checks the ports of the games, which are stored in the database.
 *
 * @throws StartupError when another program uses one of them
 */
async function refuseTakenPorts(
  { games, listen }: Config,
  database: Parameters<typeof portsOfGames>[0],
): Promise<void> {
  if (games.origins !== 'port') return
  const own = [listen.port, listen.tls.redirectPort]
  for (const port of (await portsOfGames(database)).filter((port) => !own.includes(port)))
    await bind(listen.host, port).catch((error: NodeJS.ErrnoException) => {
      throw gamePortProblem(port, error)
    })
}

/** @throws StartupError when the schedule is invalid */
async function assertSchedule(schedule: string): Promise<void> {
  const { Cron } = await import('croner')
  try {
    new Cron(schedule, { paused: true })
  } catch (error) {
    throw new StartupError(`backup.schedule: ${(error as Error).message.replace(/\.?$/, '.')}`)
  }
}

/** Loads the configuration and replaces port 0 by a free port, since the public addresses contain the port. */
async function loadWithPort(options: ConfigOptions): Promise<LoadedConfig> {
  const loaded = await loadProgramConfig(options)
  const { host, port } = loaded.config.listen
  if (port !== 0) return loaded
  return loadProgramConfig({ ...options, port: await tryListening(host, 0) })
}

/**
 * Checks that a port is free; port 0 selects a free one.
 *
 * @returns the port
 * @throws StartupError when listening fails
 */
function tryListening(host: string, port: number): Promise<number> {
  return bind(host, port).catch((error: NodeJS.ErrnoException) => {
    throw listenProblem(error, host, port)
  })
}

/** Listens for a moment. @returns the port; for port 0 a free one */
function bind(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

const banner = ({ portal, studio, games }: Record<string, string>, dataDir: string, notes: [string, string][]) => `
  Portal   ${portal}${studio === portal ? '' : `\n  Studio   ${studio}`}
  Games    ${games}
  Data     ${dataDir}
${notes.map(([label, note]) => `  ${label.padEnd(8)} ${note}\n`).join('')}
`

function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartupError(`Port ${port} is taken by another program; choose another with --port.`)
    case 'EACCES':
      return new StartupError(`Port ${port} needs more rights than this user has; choose one above 1023 with --port.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartupError(`This machine has no address ${host}; set listen.host to one it has, or to 0.0.0.0.`)
    default:
      return error
  }
}
