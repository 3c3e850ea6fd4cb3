import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { createApp } from './boot/app.ts'
import { CleanupStack } from './boot/cleanup-stack.ts'
import { connectDatabase } from './boot/database.ts'
import type { Announcement, Program } from './boot/decorators.ts'
import { openDrivers } from './boot/drivers.ts'
import { registerPlugins } from './boot/plugins.ts'
import { addHealthChecks, installRules, registerKernelRoutes } from './boot/routes.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { backUpBeforeMigration } from './data/backups/migration-backup.ts'
import type { FileSource } from './data/built-files.ts'
import { assertClockNotBehind, assertClocksAgree, openDataFolder } from './data/data-folder.ts'
import type { DataLock } from './data/data-lock.ts'
import type { DatabaseDriver } from './data/database.ts'
import { KeyRings } from './data/key-rings.ts'
import { Keys } from './data/keys.ts'
import type { ChosenDriver } from './driver.ts'
import { Events } from './events.ts'
import { Auth } from './http/auth.ts'
import { Connections } from './http/connections.ts'
import { EventStreams } from './http/event-streams.ts'
import { FastPath } from './http/fast-path.ts'
import { HttpsRedirects } from './http/https-redirects.ts'
import { RouteTable } from './http/routes.ts'
import { installShutdown } from './http/shutdown.ts'
import { randomText } from './ids.ts'
import { Jobs } from './jobs/jobs.ts'
import { WorkerPrograms } from './jobs/worker-programs.ts'
import { Health } from './observe/health.ts'
import { HostDashboard } from './observe/host-dashboard.ts'
import { createLog } from './observe/log.ts'
import { LogTail } from './observe/log-tail.ts'
import { RequestMetrics } from './observe/metrics.ts'
import type { Telemetry } from './observe/telemetry.ts'
import { noTracing } from './observe/tracing.ts'
import { CertificateFiles } from './origins/certificate-files.ts'
import { GamePorts } from './origins/game-ports.ts'
import { openLocalAuthority } from './origins/local-authority.ts'
import { Origins } from './origins/origins.ts'
import { PlainHttp } from './origins/tls.ts'
import { loadBrowserFiles } from './pages/browser-files.ts'
import { renderErrorPage, type Site } from './pages/index.ts'
import { KeptPages } from './pages/kept-pages.ts'
import { type Plugin, sortByDependencies } from './plugin.ts'

/** The parts of a program; see bin/serve.ts. */
export interface KernelParts {
  plugins: Plugin[]
  /** The driver that the configuration chose for each family, with its part of the configuration. */
  drivers: Record<string, ChosenDriver>
  /** Where built style sheets, fonts and browser scripts are read from. */
  browserFiles: FileSource
  version: string
  /** The single binary that runs, for those who want a copy; absent when it runs from a source tree or a package. */
  program?: Program | null
  clock?: Clock
  log?: Logger
  /** Keeps the last lines of that log. */
  logTail?: LogTail
  /** The configuration as it is in force, as text, secrets masked. */
  describeConfig?: () => string
  /** Traces, where they are wanted; ends with the app. */
  telemetry?: Telemetry | null
  /**
   * Called once nothing else can refuse the start, to take the exclusive lock of the data folder. The lock is released
   * when the app closes, after everything else.
   */
  takeDataFolder?: () => Promise<DataLock | null>
  /** Asked once the database answers, before anything is written to it: what it throws ends the start. */
  refuse?: (database: Pick<DatabaseDriver, 'query'>) => Promise<void>
}

/**
 * Starts the platform up to, but not including, listening. This file shows the order of the start; each step is a call
 * into a room. A broken contract stops it with a `StartupError`.
 */
export async function createKernel(config: Config, parts: KernelParts): Promise<FastifyInstance> {
  const cleanups = new CleanupStack()
  try {
    return await start(config, parts, cleanups)
  } catch (error) {
    // A start that fails midway leaves nothing open that would keep the process alive.
    await cleanups.abandon()
    throw error
  }
}

async function start(config: Config, parts: KernelParts, cleanups: CleanupStack): Promise<FastifyInstance> {
  const { drivers, version, clock = systemClock, log = createLog(config.log.level), telemetry = null } = parts
  const tracing = telemetry ?? noTracing
  let dataLock: DataLock | null | undefined
  cleanups.add(() => dataLock?.release())
  cleanups.add(() => telemetry?.close())

  // 1. The plugins' manifests: names, dependencies, tables.
  const plugins = sortByDependencies(parts.plugins)

  // 2. What can refuse the start without having written anything.
  const origins = new Origins(config)
  const browserFiles = await loadBrowserFiles(parts.browserFiles)
  const files = config.listen.tls.cert ? await CertificateFiles.open(config.listen.tls, { log, clock }) : null
  cleanups.add(() => files?.close())

  // 3. Storage: the data folder, the keys, then the drivers, then the database, to which nothing is written yet.
  dataLock = await parts.takeDataFolder?.()
  await openDataFolder(config.dataDir)
  // Only the system's clock is compared with others; a clock that was passed in belongs to a test.
  if (clock === systemClock) await assertClockNotBehind(config.dataDir, clock)
  const keys = await Keys.open(config)
  const { database, bus, families } = await openDrivers(drivers, { config, keys, plugins, clock, log }, cleanups)
  const events = new Events(bus, log, randomText(9))
  await events.start()
  const refuse = async () => {
    if (clock === systemClock && database.now) assertClocksAgree(await database.now(), clock)
    await parts.refuse?.(database)
  }
  const beforeMigration = () =>
    backUpBeforeMigration({ driver: database, dataDir: config.dataDir, version, clock, log })
  const db = await connectDatabase(database, plugins, { log, clock, tracing, version, refuse, beforeMigration })
  const jobs = new Jobs({ db, clock, log, events, tracing })
  jobs.every('jobs/forget', 24 * 3600, ({ signal }) => jobs.forgetFailed(signal))
  cleanups.add(() => jobs.stop())

  // 4. The server: which connections it takes, with which certificate.
  const requests = new RequestMetrics()
  const plainHttp = new PlainHttp(origins, { lan: config.lan.enabled })
  const local = config.lan.enabled && config.lan.https ? await openLocalAuthority(lanHosts(config), clock) : null
  const certificate = files?.current ?? local?.certificate
  const connections = new Connections(config.limits, { countAddresses: config.trustProxy === false })
  const fastPath = new FastPath(
    { log, metrics: requests, connections },
    certificate ? { certificate, plain: plainHttp } : null,
  )
  const app = createApp(config, { log, origins, connections, fastPath })
  // Before the plugins add theirs: Fastify runs these hooks in reverse, and plugins still use these while they close.
  app.addHook('onClose', () => cleanups.close())
  cleanups.app = app
  const health = new Health()
  files?.watch(health, (renewed) => fastPath.renew(renewed))

  // 5. What plugins find on the app; boot/decorators.ts has the types.
  const decorators = {
    keyRings: new KeyRings({ db, clock, keys, events }),
    ...{ config, clock, bus, db, events, keys, jobs, health, origins, connections, fastPath, plainHttp },
    ...{ auth: new Auth(origins), routeTable: new RouteTable(origins.shared), metrics: new Registry() },
    site: { name: config.portal.name, portalUrl: origins.portal, navigation: [], links: [], card: null } as Site,
    announcements: [] as Announcement[],
    localAuthority: local?.authority ?? null,
    program: parts.program ?? null,
    hostDashboard: new HostDashboard(),
    eventStreams: new EventStreams(),
    tracing,
    programVersion: version,
    driverNames: Object.fromEntries(Object.entries(drivers).map(([family, { driver }]) => [family, driver.name])),
    logTail: parts.logTail ?? new LogTail(),
    describeConfig: parts.describeConfig ?? null,
    browserFiles,
    keptPages: new KeptPages({ browserFiles, origins }),
    renderErrorPage,
    workerPrograms: new WorkerPrograms(parts.browserFiles),
    ...families,
  }
  for (const [name, value] of Object.entries(decorators)) app.decorate(name, value as never)
  app.decorate('gamePorts', new GamePorts(app, origins))
  app.decorate('httpsRedirects', new HttpsRedirects(app, plainHttp))

  // 6. The rules of every route, the kernel's own routes, then the plugins in the order of their dependencies.
  await installRules(app, telemetry)
  registerKernelRoutes(app, requests)
  addHealthChecks(app, families)
  await registerPlugins(app, plugins, config)

  // 7. The tables, now that no plugin has broken its contract; then all that starts with `onReady`.
  await db.migrate()

  // 8. The end: requests first, then the plugins, then what was opened, in reverse.
  app.addHook('onReady', () => jobs.start())
  app.addHook('preClose', async () => app.eventStreams.close())
  installShutdown(app, health, config.limits.shutdownSeconds)
  await app.ready()
  return app
}

/** The hosts that a certificate of this LAN names: the address first. */
const lanHosts = ({ dataDir, listen, lan }: Config) => ({
  dataDir,
  hosts: [...new Set([listen.host, `${lan.name}.local`, 'localhost', '127.0.0.1'])],
})
