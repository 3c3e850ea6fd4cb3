import { definePlugin } from '../../core/plugin.ts'
import { Credits } from './credits.ts'
import { CreditAccount, CreditEntry, CreditHold } from './entities.ts'
import { migration } from './migrations/2026_11_21_credits.ts'
import { BillingConfig } from './schemas.ts'

export { InsufficientCredits } from './errors.ts'
export { type Balance, LedgerEntry } from './schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    credits: Credits
  }
}

/** Credits: the ledger, and how they are bought. */
export default definePlugin(
  {
    name: 'billing',
    dependencies: ['oauth-idp'],
    config: BillingConfig,
    entities: [CreditAccount, CreditEntry, CreditHold],
    migrations: [migration],
  },
  async (app, config) => {
    app.decorate('credits', new Credits(app, config))
    app.jobs.every('billing/holds', 10, () => app.credits.releaseExpired())
  },
)
