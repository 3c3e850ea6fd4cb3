import type { DriverFamily } from '../../core/driver.ts'

/** The sale of credits: `payments: { driver: stripe, secretKey, webhookSecret, packs }`. */
export const payments: DriverFamily = {
  name: 'payments',
  default: 'none',
  builtins: {
    none: () => import('./none.ts'),
    stripe: () => import('./stripe.ts'),
  },
}
