import { createHook } from 'node:async_hooks'
import { constants } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import { printConfig } from '../config/print.ts'
import { formatProblem } from '../config/problems.ts'
import { folderProblem } from '../core/data/data-folder.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/observe/log.ts'
import { LogTail } from '../core/observe/log-tail.ts'
import { residentBytes } from '../core/observe/resident-memory.ts'
import type { Ports, Siblings } from '../core/origins/ports.ts'
import type { Installation } from './installation.ts'

/** Further parts of a server: see `KernelParts`. */
export interface ServerParts {
  takeDataFolder?: (warn: (message: string) => void) => Promise<{ release(): void } | null>
  ports?: Ports | undefined
  siblings?: Siblings | undefined
}

/**
 * Starts the platform up to, but not including, listening. Servers and workers share this part.
 *
 * @param terminal whether the log is formatted for a terminal
 * @throws StartupError with one sentence when it can't start
 */
export async function createPlatform(
  { config, plugins, disabled, drivers, problems, schema }: LoadedConfig,
  installation: Installation,
  terminal: boolean,
  { takeDataFolder = async () => null, ports, siblings }: ServerParts = {},
): Promise<FastifyInstance> {
  keepTicksFast()
  const { endpoint } = config.telemetry
  const telemetry = endpoint
    ? new (await import('../core/observe/telemetry.ts')).Telemetry(config.telemetry, installation.version)
    : null
  const logTail = new LogTail()
  const log = createLog(
    config.log.level,
    terminal ? (await import('pino-pretty')).default({ sync: true }) : undefined,
    logTail,
    telemetry?.mixin,
    siblings && { process: siblings.number },
  )
  outliveExhaustion(log)
  for (const problem of problems) log.warn(formatProblem(problem))
  return createKernel(config, {
    plugins,
    disabled,
    drivers,
    log,
    logTail,
    describeConfig: () => printConfig(config, schema),
    browserFiles: installation.browser,
    clientPackages: installation.clientPackages,
    version: installation.version,
    telemetry,
    takeDataFolder: () => takeDataFolder((message) => log.warn(message)),
    ports,
    siblings,
    program: installation.binary ? { path: installation.binary, version: installation.version } : null,
  }).catch((error) => {
    throw folderProblem(error, config.dataDir)
  })
}

/**
 * Installs the signal handlers: SIGTERM and SIGINT close the app within this time; a second signal exits at once. SIGHUP
 * does the same when it says that the terminal is closed. From a service manager it asks for a reload, which a single
 * process can't do.
 */
export function stopOnSignal(app: FastifyInstance, seconds: number): void {
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) process.exit(128 + constants.signals[signal])
    stopping = true
    app.log.info({ signal }, 'stopping')
    await closeAndExit(app, seconds)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  process.on('SIGHUP', (signal) => {
    if (process.stdout.isTTY) return stop(signal)
    app.log.warn('SIGHUP replaces the processes where `listen.processes` starts several; one process goes on as it is')
  })
}

/** Returns the way in which a supervised process ends: as after a signal, but however often it is told to. */
export function stopOnce(app: FastifyInstance, seconds: number): (reason: string) => void {
  let stopping = false
  return (reason) => {
    if (stopping) return
    stopping = true
    app.log.info({ reason }, 'stopping')
    void closeAndExit(app, seconds)
  }
}

/** Closes the app within this time, and ends the process. */
async function closeAndExit(app: FastifyInstance, seconds: number): Promise<void> {
  const deadline = setTimeout(() => {
    app.log.error(`the stop took longer than ${seconds} s; exiting anyway`)
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

const ticks: object[] = []

/**
 * Keeps one of the objects that `process.nextTick` creates. V8 discards their hidden class after several garbage
 * collections without such an object, and Node 26 then creates each one ten times as slowly for the rest of the
 * process: a server that was idle once answers fewer requests a second (bench/RESULTS.md, game origin).
 */
function keepTicksFast(): void {
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') ticks.push(resource)
    },
  }).enable()
  process.nextTick(() => {})
  hook.disable()
}

/**
 * Keeps the process alive when it may open no more files: whatever needed one has failed, and the rest goes on. Any other
 * error that nobody handles ends it, as without this.
 */
function outliveExhaustion(log: Logger): void {
  process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EMFILE' || error.code === 'ENFILE') return log.error({ err: error }, 'no descriptor was free')
    console.error(error)
    process.exit(1)
  })
}

/** The interval between two measurements of the load. */
const LOOK_MS = 10_000
/** The process counts as idle below this fraction of busy time. */
const AT_REST = 0.02
/** Memory (RSS) that has grown by this factor since the last collection justifies another one. */
const GROWN = 1.25

/**
 * Returns unused memory to the system, which V8 alone does not do while little is allocated. It runs shortly after the
 * start, whose garbage is a quarter of the memory, and again when the process is idle after a busy time. A collection
 * takes about 0.1 s.
 */
export function releaseMemoryAtRest(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  let released = Number.POSITIVE_INFINITY
  const release = () => {
    gc({ type: 'major', flavor: 'last-resort', execution: 'sync' })
    released = residentBytes() ?? Number.POSITIVE_INFINITY
  }
  setTimeout(release, 2000).unref()
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization < AT_REST && (residentBytes() ?? 0) > released * GROWN) release()
  }, LOOK_MS).unref()
}
