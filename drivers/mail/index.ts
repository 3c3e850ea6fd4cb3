import type { DriverFamily } from '../../core/driver.ts'

/** How the platform writes to people: `mail: { driver: smtp, url, from }`. */
export const mail: DriverFamily = {
  name: 'mail',
  default: 'log',
  builtins: {
    log: () => import('./log.ts'),
    smtp: () => import('./smtp.ts'),
  },
}
