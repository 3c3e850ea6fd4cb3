import type { DriverFamily } from '../../core/driver.ts'

export const storage: DriverFamily = {
  name: 'storage',
  default: 'local',
  builtins: { local: () => import('./local.ts'), s3: () => import('./s3.ts') },
}
