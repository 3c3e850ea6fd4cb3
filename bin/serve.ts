import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { StartupError } from '../core/errors.ts'
import type { Installation } from './installation.ts'
import { argumentsOf, type ConfigOptions, loadProgramConfig } from './options.ts'
import { createPlatform, releaseStartMemory, stopOnSignal } from './process.ts'

/**
 * Starts the platform and returns once it listens; from then on SIGTERM, SIGINT and SIGHUP end the process.
 *
 * @throws StartupError with one sentence when it can't start
 */
export async function startServer(options: ConfigOptions, installation: Installation): Promise<FastifyInstance> {
  const loaded = await loadWithPort(options)
  const { config } = loaded
  const terminal = process.stdout.isTTY === true
  const app = await createPlatform(loaded, installation, terminal)
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
    await app.plainRedirects.listen()
  } catch (error) {
    await app.close()
    throw listenProblem(error as NodeJS.ErrnoException, host, port)
  }
  stopOnSignal(app, config.limits.shutdownSeconds)
  releaseStartMemory()
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
