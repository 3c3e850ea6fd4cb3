import { defineError } from '../../core/errors.ts'

// The kernel itself stands on the bus, so the contract is written there; drivers import it from here.
export type { Bus, Lease } from '../../core/events.ts'

export const BusUnavailable = defineError('bus_unavailable', 503, 'The bus does not answer.')
