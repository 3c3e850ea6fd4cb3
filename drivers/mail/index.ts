import type { DriverFamily } from '../../core/driver.ts'

/** The transport of the platform's mail: `mail: { driver: smtp, url, from }`. */
export const mail: DriverFamily = {
  name: 'mail',
  default: 'log',
  builtins: {
    log: () => import('./log.ts'),
    smtp: () => import('./smtp.ts'),
  },
}
