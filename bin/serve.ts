import { availableParallelism } from 'node:os'
import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { processCount } from '../config/processes.ts'
import type { Config } from '../core/config.ts'
import { joinDataFolder, listenProblem, takeDataFolder, tryListening } from './data-folder-lock.ts'
import type { Installation } from './installation.ts'
import { NODE_FLAGS } from './node-flags.js'
import { argumentsOf, type ConfigOptions, loadProgramConfig } from './options.ts'
import { createPlatform, releaseMemoryAtRest, stopOnce, stopOnSignal } from './process.ts'
import { SupervisorClient } from './processes/supervisor-client.ts'
import { SUPERVISOR_VARIABLE, type SupervisorSettings } from './processes/supervisor-settings.ts'
import { listenOnSocket } from './unix-socket.ts'

/**
 * Starts the platform and returns once it listens. From then on SIGTERM and SIGINT end the process. If several processes
 * are to serve, this one becomes their supervisor instead.
 *
 * @throws StartupError with one sentence when it can't start
 */
export async function startServer(options: ConfigOptions, installation: Installation): Promise<void> {
  const supervised = SupervisorClient.of(process.env)
  try {
    await start(options, installation, supervised)
  } catch (error) {
    supervised?.abandon()
    throw error
  }
}

async function start(
  options: ConfigOptions,
  installation: Installation,
  supervised: SupervisorClient | null,
): Promise<void> {
  const loaded = await loadWithPort(options)
  const { config } = loaded
  const count = processCount(config, { cores: availableParallelism(), path: process.env.PATH })
  if (supervised) await serveSupervised(supervised, { loaded, options, installation })
  else if (count === null) await serveAlone({ loaded, options, installation })
  else await becomeSupervisor(supervisorSettings(loaded, count), installation)
}

interface Start {
  loaded: LoadedConfig
  options: ConfigOptions
  installation: Installation
}

async function serveAlone(start: Start): Promise<void> {
  const { loaded, installation } = start
  const { config } = loaded
  const { host, port, socket: path } = config.listen
  const terminal = process.stdout.isTTY === true
  const app = await createPlatform(loaded, installation, terminal, {
    takeDataFolder: (warn) => takeDataFolder(placesOf(config), warn),
  })
  await open(app, start, () =>
    path
      ? listenOnSocket(path, () => app.listen({ path, listenTextResolver: () => `listening on ${path}` }))
      : app.listen({ host, port, listenTextResolver: () => `listening on ${host} port ${port}` }),
  )
  stopOnSignal(app, config.limits.shutdownSeconds)
  releaseMemoryAtRest()
  await announce(app, config, terminal)
}

/** Serves as one of several processes, which a supervisor has started. */
async function serveSupervised(supervised: SupervisorClient, start: Start): Promise<void> {
  const { installation } = start
  const { place, ports } = supervised
  const loaded = place.number === 1 ? start.loaded : withoutJobs(start.loaded)
  const { config } = loaded
  const { host, port } = config.listen
  const app = await createPlatform(loaded, installation, place.terminal, {
    takeDataFolder: () => joinDataFolder(config.dataDir),
    ports,
    siblings: { number: place.number, count: place.count },
  })
  await open(app, start, () => ports.listen(app.server, { host, port }))
  releaseMemoryAtRest()
  supervised.ready(app, stopOnce(app, config.limits.shutdownSeconds))
  if (place.announces) await announce(app, config, place.terminal)
}

/** Opens the ports. The app closes again when that fails. */
async function open(app: FastifyInstance, { loaded, options, installation }: Start, listen: () => Promise<unknown>) {
  const { config } = loaded
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
    await listen()
    await app.gamePorts.listen()
    await app.httpsRedirects.listen()
  } catch (error) {
    await app.close()
    throw listenProblem(error as NodeJS.ErrnoException, config.listen.host, config.listen.port)
  }
}

/** Prints the addresses and what plugins announce. */
async function announce(app: FastifyInstance, config: Config, terminal: boolean): Promise<void> {
  const addresses = {
    portal: config.portal.url,
    studio: config.studio.url,
    games: app.origins.byPort ? `a port each, from ${config.listen.port + 1} on` : app.origins.game('<game>'),
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
}

const placesOf = ({ dataDir, portal, listen, limits }: Config) => ({
  dataDir,
  address: portal.url,
  host: listen.host,
  ports: listen.socket ? [] : [listen.port, listen.tls.redirectPort],
  shutdownSeconds: limits.shutdownSeconds,
})

function supervisorSettings({ config, drivers }: LoadedConfig, count: number): SupervisorSettings {
  const { driver, config: bus } = drivers.bus ?? {}
  return {
    ...placesOf(config),
    count,
    port: config.listen.port,
    bus: driver?.name === 'ipc' ? (bus as { path: string }).path : null,
    level: config.log.level,
  }
}

/**
 * Replaces this program by a supervisor. It replaces the process where the system can do that, since reading the configuration has
 * loaded the whole platform, which a supervisor does not need.
 */
async function becomeSupervisor(settings: SupervisorSettings, installation: Installation): Promise<void> {
  const [command, ...first] = installation.program
  if (process.execve && process.platform !== 'win32') {
    const flags = process.execArgv.filter((flag) => !NODE_FLAGS.includes(flag))
    const args = [command, ...(installation.binary ? [] : flags), ...first, ...process.argv.slice(2)]
    process.execve(command, args, { ...process.env, [SUPERVISOR_VARIABLE]: JSON.stringify(settings) })
  }
  const { runSupervisor } = await import('./processes/run-supervisor.ts')
  await runSupervisor(settings, installation)
}

/** Blender jobs are limited for the whole machine, so the first process runs them. */
function withoutJobs(loaded: LoadedConfig): LoadedConfig {
  const { blender } = loaded.drivers
  if (!blender || blender.driver.name === 'none') return loaded
  const config = { ...(blender.config as object), capacity: 0 }
  return { ...loaded, drivers: { ...loaded.drivers, blender: { ...blender, config } } }
}

/** Loads the configuration and replaces port 0 by a free port, since the public addresses contain the port. */
async function loadWithPort(options: ConfigOptions): Promise<LoadedConfig> {
  const loaded = await loadProgramConfig(options)
  const { host, port, socket } = loaded.config.listen
  if (port !== 0 || socket) return loaded
  return loadProgramConfig({ ...options, port: await tryListening(host, 0) })
}

const banner = ({ portal, studio, games }: Record<string, string>, dataDir: string, notes: [string, string][]) => `
  Portal   ${portal}${studio === portal ? '' : `\n  Studio   ${studio}`}
  Games    ${games}
  Data     ${dataDir}
${notes.map(([label, note]) => `  ${label.padEnd(8)} ${note}\n`).join('')}
`
