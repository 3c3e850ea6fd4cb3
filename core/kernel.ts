import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { createApp } from './boot/app.ts'
import { CleanupStack } from './boot/cleanup-stack.ts'
import { connectDatabase } from './boot/database.ts'
import type { Announcement, Program } from './boot/decorators.ts'
import { openDrivers } from './boot/drivers.ts'
import { failureOfAny } from './boot/extension-errors.ts'
import { registerPlugins } from './boot/plugins.ts'
import { addHealthChecks, installRules, registerKernelRoutes } from './boot/routes.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { backUpBeforeMigration } from './data/backups/migration-backup.ts'
import type { FileSource } from './data/built-files.ts'
import { assertClockNotBehind, assertClocksAgree, assertRoom, openDataFolder } from './data/data-folder.ts'
import { KeyRings } from './data/key-rings.ts'
import { Keys } from './data/keys.ts'
import { WriteGate } from './data/moving/write-gate.ts'
import type { ChosenDriver } from './driver.ts'
import { Events } from './events.ts'
import { Auth } from './http/auth.ts'
import { Connections } from './http/connections.ts'
import { EventStreams } from './http/event-streams.ts'
import { FastPath } from './http/fast-path.ts'
import { HttpsRedirects } from './http/https-redirects.ts'
import { proxyTest } from './http/limits/address-limit.ts'
import { RouteTable } from './http/routes.ts'
import { installShutdown } from './http/shutdown.ts'
import { randomText } from './ids.ts'
import { Images } from './images/images.ts'
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
import { ownPorts, type Ports, type Siblings } from './origins/ports.ts'
import { PlainHttp } from './origins/tls.ts'
import { loadBrowserFiles } from './pages/browser-files.ts'
import { renderErrorPage, type Site } from './pages/index.ts'
import { KeptPages } from './pages/kept-pages.ts'
import { legalOf } from './pages/legal.ts'
import { type Plugin, sortByDependencies } from './plugin.ts'

/** The parts of a program; see bin/serve.ts. */
export interface KernelParts {
  plugins: Plugin[]
  /** The plugins that are turned off. Their tables may exist. */
  disabled?: Plugin[]
  /** The configured driver of each family, with its validated section. */
  drivers: Record<string, ChosenDriver>
  /** Source of built style sheets, fonts and browser scripts. */
  browserFiles: FileSource
  /** Source of the packages for game developers; default: none. */
  clientPackages?: FileSource
  version: string
  /** The running single binary, which clients can download; absent for a source tree or a package. */
  program?: Program | null
  clock?: Clock
  log?: Logger
  /** Keeps the last lines of the log. */
  logTail?: LogTail
  /** Returns the effective configuration as text, with secrets masked. */
  describeConfig?: () => string
  /** Traces, if they are enabled; closed with the app. */
  telemetry?: Telemetry | null
  /**
   * Called when nothing else can refuse the start, to take the exclusive lock of the data folder. The lock is released
   * when the app closes, after everything else.
   */
  takeDataFolder?: () => Promise<{ release(): void } | null>
  /** How servers listen; each on its own when absent. */
  ports?: Ports | undefined
  /** The place of this process among those of this machine; absent when it is alone. */
  siblings?: Siblings | undefined
}

/**
 * Starts the platform up to, but not including, listening. This file shows the order of the start; each step is a call
 * into another module. A broken contract stops it with a `StartupError`.
 */
export async function createKernel(config: Config, parts: KernelParts): Promise<FastifyInstance> {
  const cleanups = new CleanupStack()
  try {
    return await start(config, parts, cleanups)
  } catch (error) {
    // A failed start must close everything that would keep the process alive.
    await cleanups.abandon()
    throw failureOfAny(parts.plugins, error)
  }
}

async function start(config: Config, parts: KernelParts, cleanups: CleanupStack): Promise<FastifyInstance> {
  const { drivers, version, clock = systemClock, log = createLog(config.log.level), telemetry = null } = parts
  const tracing = telemetry ?? noTracing
  let dataLock: { release(): void } | null | undefined
  cleanups.add(() => dataLock?.release())
  cleanups.add(() => telemetry?.close())

  // 1. The plugins' manifests: names, dependencies, tables.
  const { disabled = [] } = parts
  const plugins = sortByDependencies(parts.plugins, disabled)

  // 2. Checks that can refuse the start before any write.
  const origins = new Origins(config)
  const browserFiles = await loadBrowserFiles(parts.browserFiles)
  const files = config.listen.tls.cert ? await CertificateFiles.open(config.listen.tls, { log, clock }) : null
  cleanups.add(() => files?.close())

  // 3. Storage: the data folder, the keys, the drivers, then the database, which is not written yet.
  await assertRoom(config.dataDir)
  dataLock = await parts.takeDataFolder?.()
  await openDataFolder(config.dataDir)
  // Only the system's clock is compared with others; an injected clock belongs to a test.
  if (clock === systemClock) await assertClockNotBehind(config.dataDir, clock)
  const keys = await Keys.open(config)
  const workerPrograms = new WorkerPrograms(parts.browserFiles)
  const images = new Images(workerPrograms)
  cleanups.add(() => images.close())
  const services = { config, keys, plugins, clock, log, workerPrograms }
  const { database, bus, families } = await openDrivers(drivers, services, cleanups)
  const node = randomText(9)
  const events = new Events(bus, log, node)
  await events.start()
  const refuse = async () => {
    if (clock === systemClock && database.now) assertClocksAgree(await database.now(), clock)
  }
  const beforeMigration = () =>
    backUpBeforeMigration({ driver: database, dataDir: config.dataDir, version, clock, log })
  const context = { log, clock, tracing, version, refuse, beforeMigration, disabled }
  const db = await connectDatabase(database, plugins, context)
  const writeGate = await WriteGate.open({
    db,
    bus,
    byBus: database.shared && bus.shared,
    dataDir: config.dataDir,
    log,
    node,
  })
  cleanups.add(() => writeGate.close())
  const jobs = new Jobs({ db, clock, log, events, tracing })
  jobs.every('jobs/forget', 24 * 3600, ({ signal }) => jobs.forgetFailed(signal))
  cleanups.add(() => jobs.stop())

  // 4. The server with its connection limits and certificate.
  const requests = new RequestMetrics()
  const plainHttp = new PlainHttp(origins, { lan: config.lan.enabled })
  const warn = (message: string) => log.warn(message)
  const local = config.lan.enabled && config.lan.https ? await openLocalAuthority(lanHosts(config), clock, warn) : null
  const certificate = files?.current ?? local?.certificate
  const connections = new Connections(config.limits, { isProxy: proxyTest(config.trustProxy) })
  const fastPath = new FastPath(
    { log, metrics: requests, connections },
    certificate ? { certificate, plain: plainHttp } : null,
  )
  const app = createApp(config, { log, origins, connections, fastPath })
  // This hook precedes those of plugins: Fastify runs `onClose` hooks in reverse, and plugins need these parts while
  // they close.
  app.addHook('onClose', () => cleanups.close())
  cleanups.app = app
  const health = new Health()
  files?.watch(health, (renewed) => fastPath.renew(renewed))

  // 5. The decorators of the app; boot/decorators.ts has their types.
  const decorators = {
    keyRings: new KeyRings({ db, clock, keys, events }),
    config,
    clock,
    bus,
    db,
    writeGate,
    events,
    keys,
    jobs,
    health,
    origins,
    connections,
    fastPath,
    plainHttp,
    auth: new Auth(origins),
    routeTable: new RouteTable(origins.shared),
    metrics: new Registry(),
    site: {
      name: config.portal.name,
      portalUrl: origins.portal,
      navigation: [],
      links: [],
      thingLinks: [],
      card: null,
      legal: legalOf(config.portal.legal),
    } as Site,
    announcements: [] as Announcement[],
    localAuthority: local?.authority ?? null,
    program: parts.program ?? null,
    clientPackages: parts.clientPackages ?? (async () => null),
    hostDashboard: new HostDashboard(),
    eventStreams: new EventStreams(),
    tracing,
    programVersion: version,
    siblings: parts.siblings ?? { number: 1, count: 1 },
    driverNames: Object.fromEntries(Object.entries(drivers).map(([family, { driver }]) => [family, driver.name])),
    logTail: parts.logTail ?? new LogTail(),
    describeConfig: parts.describeConfig ?? null,
    browserFiles,
    keptPages: new KeptPages({ browserFiles, origins }),
    renderErrorPage,
    workerPrograms,
    images,
    ...families,
  }
  for (const [name, value] of Object.entries(decorators)) app.decorate(name, value as never)
  app.decorate('ports', parts.ports ?? ownPorts)
  app.decorate('gamePorts', new GamePorts(app, origins))
  app.decorate('httpsRedirects', new HttpsRedirects(app, plainHttp))

  // 6. The rules of every route, the kernel's own routes, then the plugins in the order of their dependencies.
  await installRules(app, telemetry)
  registerKernelRoutes(app, requests, node)
  addHealthChecks(app, families)
  await registerPlugins(app, plugins, config)

  // 7. The migration, after every plugin has registered successfully; then everything that starts in `onReady`.
  await db.migrate()

  // 8. The shutdown: first requests, then jobs, then the plugins, then the opened parts in reverse order.
  app.addHook('onReady', () => jobs.start())
  app.addHook('preClose', async () => app.eventStreams.close())
  // Before the plugins, since running jobs use what these close, such as worker threads.
  app.addHook('onClose', () => jobs.stop())
  installShutdown(app, health, config.limits.shutdownSeconds)
  await app.ready()
  return app
}

/** Returns the hosts of the certificate of this LAN, the address first. */
const lanHosts = ({ dataDir, listen, lan }: Config) => ({
  dataDir,
  hosts: [...new Set([listen.host, `${lan.name}.local`, 'localhost', '127.0.0.1'])],
})
