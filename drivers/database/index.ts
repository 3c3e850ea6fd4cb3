import type { DriverFamily } from '../../core/driver.ts'

/** The databases that can store the platform's rows. */
export const database: DriverFamily = {
  name: 'database',
  default: 'sqlite',
  builtins: {
    sqlite: () => import('./sqlite.ts'),
    postgres: () => import('./postgres.ts'),
  },
}
