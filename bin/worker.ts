import type { FastifyInstance } from 'fastify'
import type { LoadedConfig } from '../config/load.ts'
import { StartupError } from '../core/errors.ts'
import type { Installation } from './installation.ts'
import { type ConfigOptions, loadProgramConfig } from './options.ts'
import { createPlatform, releaseMemoryAtRest, stopOnSignal } from './process.ts'

export interface WorkerOptions extends ConfigOptions {
  /** Maximum of concurrent Blender jobs. Default: the configured capacity, or one if that is 0. */
  capacity?: number
}

/**
 * Starts a process that takes jobs from the queue of a platform and does not listen. From then on SIGTERM and SIGINT
 * end the process and release its jobs.
 *
 * @throws StartupError with one sentence when no job could run here
 */
export async function startWorker(options: WorkerOptions, installation: Installation): Promise<FastifyInstance> {
  const loaded = withCapacity(await loadProgramConfig(options), options.capacity)
  const app = await createPlatform(loaded, installation, process.stdout.isTTY === true)
  // The plugin defines this decorator, and the configuration may disable the plugin.
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

/**
 * Sets the capacity of a worker. The server shares the configuration file, where capacity 0 means that the server takes
 * no jobs.
 */
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
