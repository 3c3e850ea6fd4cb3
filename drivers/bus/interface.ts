import { defineError, RETRY_SOON } from '../../core/errors.ts'

// The kernel uses the bus itself, so it defines the contract; drivers import it from here.
export type { Bus, Lease } from '../../core/events.ts'

export const BusUnavailable = defineError('bus_unavailable', 503, 'The bus does not answer.', RETRY_SOON)
