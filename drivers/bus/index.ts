import type { DriverFamily } from '../../core/driver.ts'

/** The message bus between nodes: `bus: { driver: redis, url }`. */
export const bus: DriverFamily = {
  name: 'bus',
  default: 'local',
  builtins: {
    local: () => import('./local.ts'),
    redis: () => import('./redis.ts'),
  },
}
