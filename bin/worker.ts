import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { StartupError } from '../core/errors.ts'
import type { Installation } from './installation.ts'
import { type ConfigOptions, loadProgramConfig } from './options.ts'
import { createPlatform, releaseMemoryAtRest, stopOnSignal } from './process.ts'

export interface WorkerOptions extends ConfigOptions {
  /** Blender jobs at once; by default what the configuration says, and one where it says none. */
  capacity?: number
}

/**
 * Starts a process that takes jobs from the queue of a platform and does not listen. From then on SIGTERM, SIGINT and
 * SIGHUP end it, and release its jobs.
 *
 * @throws StartupError with one sentence when no job could run here
 */
export async function startWorker(options: WorkerOptions, installation: Installation): Promise<FastifyInstance> {
  const loaded = withCapacity(await loadProgramConfig(options), options.capacity)
  const app = await createPlatform(loaded, installation, process.stdout.isTTY === true)
  // Of the plugin, which the configuration may have turned off.
  const blender = app.hasDecorator('blender') ? app.blender : null
  const found = await blender?.takeJobs()
  if (!found?.available || found.missing) {
    await app.close()
    const reason = found?.available ? found.missing : found?.reason
    throw new StartupError(
      reason ? `No job can run here: ${reason}` : 'The plugin blender is turned off, so there are no jobs to run.',
    )
  }
  stopOnSignal(app, loaded.config.limits.shutdownSeconds)
  releaseMemoryAtRest()
  app.log.info(
    { blender: found.blenderVersion, executor: app.blenderDriver.name, capacity: app.blenderDriver.capacity },
    'takes jobs',
  )
  return app
}

/** The same file serves server and worker: a capacity of 0 there tells the server to leave jobs alone. */
function withCapacity(loaded: LoadedConfig, capacity: number | undefined): LoadedConfig {
  const { blender } = loaded.drivers
  if (!blender) return loaded
  if (blender.driver.name === 'none')
    throw new StartupError(
      'blender.driver is none, so no job can run here; choose subprocess or docker for the worker.',
    )
  const config = blender.config as { capacity?: number }
  const chosen = { ...config, capacity: capacity ?? (config.capacity || 1) }
  return { ...loaded, drivers: { ...loaded.drivers, blender: { ...blender, config: chosen } } }
}
