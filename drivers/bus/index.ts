import type { DriverFamily } from '../../core/driver.ts'

/** What several nodes share beyond the database: `bus: { driver: redis, url }`. */
export const bus: DriverFamily = {
  name: 'bus',
  default: 'local',
  builtins: {
    local: () => import('./local.ts'),
    redis: () => import('./redis.ts'),
  },
}
