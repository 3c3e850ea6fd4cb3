import type { FastifyInstance } from 'fastify'
import type { Availability } from '../../drivers/blender/interface.ts'

/**
 * Reports an incomplete Blender to the administrators, once in the log and on the overview, and when it is complete
 * again.
 */
export function noteBlender({ health, log, clock }: FastifyInstance, found: Availability): void {
  const missing = found.available ? found.missing : null
  const before = health.notes.get('blender')
  if (missing) {
    if (before?.state !== 'warning') log.warn(`Blender is incomplete: ${missing}`)
    health.notes.set('blender', { state: 'warning', message: missing, at: clock.now() })
  } else if (before && found.available) {
    health.notes.set('blender', { state: 'ok', message: `Blender ${found.blenderVersion} is whole.`, at: clock.now() })
  }
}
