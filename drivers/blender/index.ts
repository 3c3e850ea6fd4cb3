import type { DriverFamily } from '../../core/driver.ts'

/** The executors of Blender: `blender: { driver: subprocess, command: blender, capacity: 1 }`. */
export const blender: DriverFamily = {
  name: 'blender',
  default: 'subprocess',
  builtins: {
    subprocess: () => import('./subprocess.ts'),
    docker: () => import('./docker.ts'),
    none: () => import('./none.ts'),
  },
}
