import { createServer } from 'node:net'
import { constants } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { formatProblem } from '../config/problems.ts'
import { folderProblem } from '../core/data-folder.ts'
import { StartupError } from '../core/errors.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/log.ts'
import type { Installation } from './installation.ts'
import { argumentsOf, type ConfigOptions, loadProgramConfig } from './options.ts'

/**
 * Starts the platform and returns once it listens; from then on SIGTERM, SIGINT and SIGHUP end the process.
 *
 * @throws StartupError with one sentence when it can't start
 */
export async function startServer(options: ConfigOptions, installation: Installation): Promise<FastifyInstance> {
  const loaded = await loadWithPort(options)
  const { config, plugins, drivers, problems } = loaded
  const terminal = process.stdout.isTTY === true
  const log = createLog(config.log.level, terminal ? (await import('pino-pretty')).default({ sync: true }) : undefined)
  for (const problem of problems) log.warn(formatProblem(problem))

  const app = await createKernel(config, {
    plugins,
    drivers,
    log,
    browserFiles: installation.browser,
    version: installation.version,
  }).catch((error) => {
    throw folderProblem(error, config.dataDir)
  })
  const { host, port } = config.listen
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
  } catch (error) {
    await app.close()
    throw listenProblem(error as NodeJS.ErrnoException, host, port)
  }
  stopOnSignal(app, config.limits.shutdownSeconds)
  setTimeout(releaseStartMemory, 2000).unref()
  const addresses = { portal: config.portal.url, studio: config.studio.url, games: app.origins.game('<game>') }
  const notes: [string, string][] = []
  for (const { label, text } of app.announcements) {
    const note = await text()
    if (note) notes.push([label, note])
  }
  if (terminal) process.stdout.write(banner(addresses, config.dataDir, notes))
  else {
    for (const [label, note] of notes) log.info(`${label}: ${note}`)
    log.info({ ...addresses, dataDir: config.dataDir }, 'ready')
  }
  return app
}

/**
 * Gives back what only the start needed: a quarter of the memory, which V8 alone would keep for as long as little is
 * allocated. One collection of about 0.1 s, once.
 */
function releaseStartMemory(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type: 'major', flavor: 'last-resort', execution: 'sync' })
}

/** The public addresses contain the port, so a free one is picked before anything is built on it. */
async function loadWithPort(options: ConfigOptions): Promise<LoadedConfig> {
  const loaded = await loadProgramConfig(options)
  const { host, port } = loaded.config.listen
  if (port !== 0) return loaded
  return loadProgramConfig({ ...options, port: await freePort(host) })
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenProblem(error, host, 0)))
    server.listen(0, host, () => {
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

function stopOnSignal(app: FastifyInstance, seconds: number): void {
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) process.exit(128 + constants.signals[signal])
    stopping = true
    app.log.info({ signal }, 'stopping')
    const deadline = setTimeout(() => {
      app.log.error(`not everything ended within ${seconds} s; leaving it`)
      process.exit(1)
    }, seconds * 1000)
    try {
      await app.close()
      clearTimeout(deadline)
      process.exit(0)
    } catch (error) {
      app.log.error({ err: error }, 'the stop failed')
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
}
