import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { Auth } from './auth.ts'
import { type BrowserFiles, browserFileRoutes, type FileSource, loadBrowserFiles } from './browser-files.ts'
import { CertificateFiles } from './certificate-files.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openDataFolder, refuseClockApart, refuseClockBehind } from './data-folder.ts'
import { Database, type DatabaseDriver } from './database.ts'
import { registerDesign } from './design.ts'
import type { ChosenDriver } from './driver.ts'
import { installErrorHandlers, refuseAddress } from './error-handler.ts'
import { StartupError } from './errors.ts'
import { EventStreams } from './event-streams.ts'
import { type Bus, Events } from './events.ts'
import { FirstLooks } from './first-look.ts'
import { GamePorts } from './game-ports.ts'
import { Health, registerHealth } from './health.ts'
import { IdempotentAnswer, idempotencyMigrations, installIdempotency } from './idempotency.ts'
import { randomText, requestIds } from './ids.ts'
import { BackgroundJob, Jobs, jobMigrations } from './jobs.ts'
import { Keys } from './keys.ts'
import { type LocalAuthority, openLocalAuthority } from './local-authority.ts'
import { createLog } from './log.ts'
import { LogTail } from './log-tail.ts'
import { RequestMetrics, registerMetrics } from './metrics.ts'
import { collectOpenapi, registerReference } from './openapi.ts'
import { Origins } from './origins.ts'
import { Overview } from './overview.ts'
import type { Site } from './pages.ts'
import { PlainRedirects } from './plain-redirects.ts'
import { arrange, configOf, limitsOf, type Plugin, sectionsOf } from './plugin.ts'
import { registerRateLimits } from './rate-limit.ts'
import { RequestLog } from './request-log.ts'
import { answerClientError, installRequestRules, PARSER_OPTIONS } from './request-rules.ts'
import { installRouteContract, RouteTable } from './routes.ts'
import { installSecurityHeaders } from './security-headers.ts'
import { installShutdown } from './shutdown.ts'
import { registerSiteFiles } from './site-files.ts'
import { registerSitemap } from './sitemap.ts'
import type { Telemetry } from './telemetry.ts'
import { PlainHttp } from './tls.ts'
import { noTracing, type Tracing } from './tracing.ts'
import { serializerCompiler, validatorCompiler } from './validation.ts'
import { WorkerPrograms } from './worker-programs.ts'

/** Something that whoever starts the program should see: a set-up link, a warning. Null when there is nothing to say. */
export interface Announcement {
  label: string
  text(): Promise<string | null>
  /** A picture in characters, shown below everything else on a terminal only. */
  picture?(): Promise<string>
}

/** A program that is one file. */
export interface Program {
  path: string
  version: string
}

/** What a program is put together from; see bin/serve.ts. */
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
  /** What keeps the last lines of that log. */
  logTail?: LogTail
  /** The configuration as it is in force, as text, secrets masked. */
  describeConfig?: () => string
  /** Traces, where they are wanted; ends with the app. */
  telemetry?: Telemetry | null
}

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    browserFiles: BrowserFiles
    clock: Clock
    /** What nodes share; for events use `events`. */
    bus: Bus
    db: Database
    events: Events
    keys: Keys
    jobs: Jobs
    health: Health
    origins: Origins
    gamePorts: GamePorts
    site: Site
    /** The authority that signs for this LAN; null without https of our own. */
    localAuthority: LocalAuthority | null
    plainHttp: PlainHttp
    plainRedirects: PlainRedirects
    program: Program | null
    overview: Overview
    /** Spans for what takes time. */
    tracing: Tracing
    /** Version of the program. */
    programVersion: string
    /** What the configuration chose, by family. */
    driverNames: Readonly<Record<string, string>>
    /** The configuration as it is in force, as text, secrets masked; null where the program did not say. */
    describeConfig: (() => string) | null
    /** Shown once the server listens; plugins add theirs. */
    announcements: Announcement[]
  }
}

/**
 * Starts the platform up to, but not including, listening. What follows is the order of the start; each step is a file
 * of its own. Whatever breaks a contract stops it with a `StartupError`.
 */
export async function createKernel(config: Config, parts: KernelParts): Promise<FastifyInstance> {
  const opened = new Opened()
  try {
    return await assemble(config, parts, opened)
  } catch (error) {
    // A start that fails midway leaves nothing open that would keep the process alive.
    await opened.abandon()
    throw error
  }
}

async function assemble(config: Config, parts: KernelParts, opened: Opened): Promise<FastifyInstance> {
  const { drivers, clock = systemClock, log = createLog(config.log.level), telemetry = null } = parts
  const tracing = telemetry ?? noTracing
  opened.add(() => telemetry?.close())

  // 1. The plugins' manifests: names, dependencies, tables.
  const plugins = arrange(parts.plugins)

  // 2. The ground: keys, then drivers, then the database with its migrations.
  const origins = new Origins(config)
  await openDataFolder(config.dataDir)
  // A clock that was passed in is nobody's machine's.
  if (clock === systemClock) await refuseClockBehind(config.dataDir, clock)
  const keys = await Keys.open(config)
  const instances: Record<string, unknown> = {}
  for (const [family, { driver, config: options }] of Object.entries(drivers)) {
    const instance = (await driver.create(options as never, {
      dataDir: config.dataDir,
      portalUrl: config.portal.url,
      clock,
      log: log.child({ driver: `${family}/${driver.name}` }),
      secret: (purpose) => keys.derive(`drivers/${purpose}`),
    })) as Closable
    opened.add(() => instance.close?.())
    // The capability of that name is the plugin's, if there is one.
    instances[plugins.some(({ name }) => name === family) ? `${family}Driver` : family] = instance
  }
  const { database, bus, ...families } = instances as { database: DatabaseDriver; bus: Bus } & Record<string, Closable>
  if (database.shared && !config.secret) {
    throw new StartupError(
      'Several machines can share this database, so each needs the same `secret` in its configuration.',
    )
  }
  const db = await openDatabase(database, plugins, { log, clock, tracing })
  if (clock === systemClock && database.now) refuseClockApart(await database.now(), clock)
  const events = new Events(bus, log, randomText(9))
  await events.start()
  const jobs = new Jobs({ db, clock, log, events, tracing })
  opened.add(() => jobs.stop())

  // 3. The app, and what plugins find on it.
  const requests = new RequestMetrics()
  const plainHttp = new PlainHttp(origins, { lan: config.lan.enabled })
  const local = config.lan.enabled && config.lan.https ? await openLocalAuthority(lanHosts(config), clock) : null
  const files = config.listen.tls.cert ? await CertificateFiles.open(config.listen.tls, { log, clock }) : null
  const certificate = files?.current ?? local?.certificate
  const firstLooks = new FirstLooks(log, requests, certificate ? { certificate, plain: plainHttp } : null)
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // core/request-rules.ts writes one line
    trustProxy: config.trustProxy,
    genReqId: requestIds(),
    requestIdHeader: false,
    bodyLimit: config.limits.requestBodyBytes,
    forceCloseConnections: 'idle',
    pluginTimeout: SLOWEST_START_MS,
    serverFactory: (handler) => firstLooks.createServer(handler),
    childLoggerFactory: (parent, bindings, options) => new RequestLog(parent, bindings, options),
    frameworkErrors: (error, request, reply) => refuseAddress(app, error, request, reply),
    clientErrorHandler: answerClientError,
    ...PARSER_OPTIONS,
    routerOptions: { constraints: { origin: origins.constraint() } as never, maxParamLength: 1024 },
  }) as unknown as FastifyInstance
  // Before the plugins add theirs: Fastify runs these hooks in reverse, and what plugins close still needs the ground.
  app.addHook('onClose', () => opened.close())
  opened.app = app
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  app.decorateRequest('principal', null)
  const health = new Health()
  files?.watch(health, (renewed) => firstLooks.renew(renewed))
  opened.add(() => files?.close())
  const browserFiles = await loadBrowserFiles(parts.browserFiles)
  const decorators = {
    ...{ config, clock, bus, db, events, keys, jobs, health, origins, firstLooks, plainHttp },
    ...{ auth: new Auth(origins), routeTable: new RouteTable(origins.shared), metrics: new Registry() },
    site: { name: config.portal.name, portalUrl: origins.portal, navigation: [], links: [], card: null } as Site,
    announcements: [],
    localAuthority: local?.authority ?? null,
    program: parts.program ?? null,
    overview: new Overview(),
    eventStreams: new EventStreams(),
    tracing,
    programVersion: parts.version,
    driverNames: Object.fromEntries(Object.entries(drivers).map(([family, { driver }]) => [family, driver.name])),
    logTail: parts.logTail ?? new LogTail(),
    describeConfig: parts.describeConfig ?? null,
    browserFiles,
    workerPrograms: new WorkerPrograms(parts.browserFiles),
    ...families,
  }
  for (const [name, value] of Object.entries(decorators)) app.decorate(name, value as never)

  app.decorate('gamePorts', new GamePorts(app, origins))
  app.decorate('plainRedirects', new PlainRedirects(app, plainHttp))

  // 4. What holds for every route, then the kernel's own routes.
  if (telemetry) await app.register(telemetry.plugin)
  installRouteContract(app)
  installRequestRules(app)
  installIdempotency(app)
  await app.register(cookie)
  await app.register(formbody)
  installSecurityHeaders(app, origins, { lan: config.lan.enabled })
  await registerRateLimits(app, { bus, clock, origins, limits: config.limits })
  await collectOpenapi(app, { version: parts.version, url: origins.portal })
  installErrorHandlers(app)
  registerHealth(app, health)
  registerMetrics(app, requests, config.metrics.token)
  browserFileRoutes(app, { files: browserFiles, origins: origins.shared ? ['portal'] : ['portal', 'studio'] })
  registerReference(app)
  if (config.portal.designPage) registerDesign(app)
  registerSiteFiles(app)
  registerSitemap(app)
  health.add('database', () => db.ping())
  // Without it each node goes on for itself; were it vital, its outage would take every node off the load balancer.
  health.add('bus', () => bus.ping(), { vital: false })
  for (const [family, instance] of Object.entries(families)) {
    if (instance.ping) health.add(family, () => Promise.resolve(instance.ping?.()))
  }

  // 5. The plugins, in the order of their dependencies.
  for (const plugin of plugins) {
    await app.register(
      fastifyPlugin(async (scope) => plugin.register(scope, ...settingsOf(plugin, config)), {
        name: plugin.name,
        dependencies: plugin.dependencies,
      }),
    )
  }

  // 6. The end: requests first, then the plugins, then what was opened, in reverse.
  app.addHook('onReady', () => jobs.start())
  app.addHook('preClose', async () => app.eventStreams.close())
  installShutdown(app, health, config.limits.shutdownSeconds)
  await app.ready()
  return app
}

/** For one plugin, and for what happens once all are ready. Fastify's own 10 s are few for a small, busy machine. */
const SLOWEST_START_MS = 120_000

/** Whom a certificate of this LAN is for: the address first. */
const lanHosts = ({ dataDir, listen, lan }: Config) => ({
  dataDir,
  hosts: [...new Set([listen.host, `${lan.name}.local`, 'localhost', '127.0.0.1'])],
})

const settingsOf = (plugin: Plugin, config: Config) =>
  [configOf(plugin, config), limitsOf(plugin, config), sectionsOf(plugin, config)] as const

/** The database with every table of kernel and plugins, migrated: also for commands that need no more than that. */
export const openDatabase = (
  driver: DatabaseDriver,
  plugins: Plugin[],
  context: { log: FastifyBaseLogger; clock: Clock; tracing?: Tracing },
): Promise<Database> =>
  Database.open(driver, {
    entities: [BackgroundJob, IdempotentAnswer, ...plugins.flatMap((plugin) => plugin.entities)],
    migrations: [...jobMigrations, ...idempotencyMigrations, ...plugins.flatMap((plugin) => plugin.migrations)],
    ...context,
  })

/** What a start has opened so far, and how to end it: the other way round, each thing once. */
class Opened {
  /** Once there is an app, its `onClose` ends the rest. */
  app: FastifyInstance | null = null
  readonly #ends: (() => unknown)[] = []

  add(end: () => unknown): void {
    this.#ends.push(end)
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end()
  }

  /** After a start that failed. */
  async abandon(): Promise<void> {
    if (this.app) await this.app.close()
    else await this.close()
  }
}

interface Closable {
  ping?(): Promise<void>
  close?(): Promise<void>
}
