import { constants } from 'node:os'
import { createLog } from '../../core/observe/log.ts'
import { addressOf } from '../../drivers/bus/ipc/address.ts'
import { Hub } from '../../drivers/bus/ipc/hub.ts'
import { takeDataFolder } from '../data-folder-lock.ts'
import type { Installation } from '../installation.ts'
import { Supervisor } from './supervisor.ts'
import { portsOf } from './supervisor-ports.ts'
import type { SupervisorSettings } from './supervisor-settings.ts'

/**
 * Runs the platform in several processes until it is told to stop. SIGTERM and SIGINT end all processes in order, a
 * second one at once. SIGHUP replaces them one after the other; on a terminal it ends them, since it is closed.
 *
 * @throws StartupError with one sentence when the platform can't start
 */
export async function runSupervisor(settings: SupervisorSettings, installation: Installation): Promise<void> {
  const terminal = process.stdout.isTTY === true
  const log = createLog(settings.level, terminal ? (await import('pino-pretty')).default({ sync: true }) : undefined)
  const lock = await takeDataFolder(settings, (message) => log.warn(message))
  // The supervisor outlives the other processes, so the bus loses nothing when one of them ends.
  const hub = settings.bus === null ? null : await Hub.open(await addressOf(settings.dataDir, settings.bus))
  const ports = portsOf(settings.count, process.env.GAMEYARD_PORTS)
  const supervisor = new Supervisor(settings, { installation, ports, log, terminal })

  const exit = async (code: number) => {
    await hub?.close()
    lock.release()
    process.exit(code)
  }
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) {
      supervisor.kill()
      process.exit(128 + constants.signals[signal])
    }
    stopping = true
    log.info({ signal }, 'stopping')
    await exit((await supervisor.stop()) ? 0 : 1)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', (signal) => (terminal ? stop(signal) : supervisor.replaceAll()))

  if (!(await supervisor.start()) && !stopping) await exit(1)
}
