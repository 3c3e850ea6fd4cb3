import type { FastifyInstance } from 'fastify'
import type { AdmissionRevalidation } from './admission/revalidation.ts'
import type { Connections } from './connections.ts'
import type { RoomDirectory } from './directory.ts'

/** Starts what rooms and their sockets do periodically. @returns the timers, for `clearInterval` */
export function startTimers(
  app: FastifyInstance,
  {
    directory,
    connections,
    revalidation,
    limits,
  }: {
    directory: RoomDirectory
    connections: Connections
    revalidation: AdmissionRevalidation
    limits: { roomPingSeconds: number }
  },
): NodeJS.Timeout[] {
  const endOfKeys = () =>
    connections
      .endOfKeys((keyId) => app.keyRings.isEnded('sessions', keyId))
      .catch((error) =>
        app.log.warn({ err: error }, 'whether keys were ended could not be read; it will be tried again'),
      )
  const pingMs = limits.roomPingSeconds * 1000
  const timers = [
    setInterval(() => void directory.maintain(), 1000),
    setInterval(() => connections.probe(pingMs), pingMs),
    setInterval(() => void revalidation.retry(), 1000),
    setInterval(() => void endOfKeys(), 1000),
  ]
  for (const timer of timers) timer.unref()
  return timers
}
