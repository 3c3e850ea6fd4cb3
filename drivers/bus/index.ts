import type { DriverFamily } from '../../core/driver.ts'

/** The message bus between nodes: `bus: { driver: redis, url }`, or between processes of one machine: `ipc`. */
export const bus: DriverFamily = {
  name: 'bus',
  default: 'local',
  builtins: {
    local: () => import('./local.ts'),
    ipc: () => import('./ipc.ts'),
    redis: () => import('./redis.ts'),
  },
}
