import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../core/clock.ts'
import { DataLock } from '../core/data/data-lock.ts'
import { FileLock } from '../core/data/sharing/file-lock.ts'
import { StartupError } from '../core/errors.ts'

/** What a start takes before anything is written. */
export interface TakenPlaces {
  dataDir: string
  /** Address of the portal. */
  address: string
  host: string
  /** Ports to listen on. */
  ports: number[]
  shutdownSeconds: number
  /** The number of processes; absent for one that serves alone. */
  count?: number
}

/**
 * Checks, before anything is written, the causes that can refuse a start: another server has the data folder, or
 * another program has a port. If a start migrated the database and then failed, the previous version could not use the
 * database. The data folder comes first, because its error is clearer when somebody starts the same server twice.
 *
 * @throws StartupError
 */
export async function takeDataFolder(places: TakenPlaces, warn: (message: string) => void): Promise<DataLock> {
  const { dataDir, address, host, count } = places
  const ports = places.ports.filter((port) => port !== 0)
  const checkPorts = () => Promise.all(ports.map((port) => tryListening(host, port)))
  if (!existsSync(dataDir)) await checkPorts()
  const processes = count === undefined ? {} : { processes: count }
  const lock = await DataLock.acquire(dataDir, { address, ...processes, clock: systemClock, warn })
  try {
    await waitForRemains(places)
    await checkPorts()
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Every process that a supervisor has started shares the lock of this file. */
const SHARED_LOCK = 'processes.lock'

/** Notes that this process uses the data folder, which its supervisor has locked. */
export async function joinDataFolder(dataDir: string): Promise<{ release(): void }> {
  const lock = await FileLock.take(join(dataDir, SHARED_LOCK), 'shared').catch(() => null)
  return { release: () => lock?.release() }
}

/** The processes of a supervisor that was killed end on their own. Waits until they have. */
async function waitForRemains({ dataDir, shutdownSeconds }: TakenPlaces): Promise<void> {
  const file = join(dataDir, SHARED_LOCK)
  if (!existsSync(file)) return
  const giveUpAt = performance.now() + (shutdownSeconds + 5) * 1000
  for (;;) {
    const lock = await FileLock.take(file).catch(() => 'no locks' as const)
    if (lock === 'no locks') return
    if (lock) return lock.release()
    if (performance.now() > giveUpAt) break
    await sleep(100)
  }
  throw new StartupError(
    `Processes of an earlier start still use the data folder ${dataDir}, although their supervisor has ended: end them, and start again.`,
  )
}

/**
 * Checks that a port is free; port 0 selects a free one.
 *
 * @returns the port
 * @throws StartupError when listening fails
 */
export function tryListening(host: string, port: number): Promise<number> {
  return bind(host, port).catch((error: NodeJS.ErrnoException) => {
    throw listenProblem(error, host, port)
  })
}

/** Listens for a moment. @returns the port; for port 0 a free one */
function bind(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Explains why a port can't be used; returns any other error unchanged. */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): Error {
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
