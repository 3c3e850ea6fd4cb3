import type { DriverFamily } from '../../core/driver.ts'

/** Where the platform keeps its rows. */
export const database: DriverFamily = {
  name: 'database',
  default: 'sqlite',
  builtins: {
    sqlite: () => import('./sqlite.ts'),
    postgres: () => import('./postgres.ts'),
  },
}
