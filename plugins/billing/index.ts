import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/payments/interface.ts'
import { loss } from '../oauth-idp/index.ts'
import { Credits } from './credits.ts'
import {
  CreditAccount,
  CreditEntry,
  CreditHold,
  CreditPayment,
  CreditPurchase,
  CreditReversal,
  PaymentEventRow,
} from './entities.ts'
import { exportLedger, exportPurchases } from './export-credits.ts'
import { Holders } from './holders.ts'
import { migrations } from './migrations.ts'
import { pages } from './pages.ts'
import { contributePaymentProblems } from './payment-problems.ts'
import { Purchases } from './purchases.ts'
import { routes } from './routes.ts'
import { BillingConfig } from './schemas.ts'

export { InsufficientCredits } from './errors.ts'
export { type Balance, LedgerEntry } from './schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    credits: Credits
    purchases: Purchases
  }
}

/** Credits: the ledger and purchases. */
export default definePlugin(
  {
    name: 'billing',
    dependencies: ['oauth-idp'],
    config: BillingConfig,
    entities: [CreditAccount, CreditEntry, CreditHold, CreditPurchase, CreditPayment, CreditReversal, PaymentEventRow],
    migrations,
  },
  async (app, config) => {
    const holders = new Holders(app.config.dataDir, app)
    app.decorate('credits', new Credits(app, config, holders.id))
    app.addHook('onReady', () => holders.start((holder) => app.credits.releaseHeldBy(holder)))
    app.addHook('onClose', () => holders.stop())
    app.decorate('purchases', new Purchases(app))
    app.jobs.every('billing/holds', 10, () => app.credits.releaseExpired())
    app.jobs.every('billing/refunds', 60, () => app.purchases.collect())
    const { deletion } = app.identity
    deletion.exporters.set('credits', (playerId) => app.credits.balance(playerId))
    deletion.exporters.set('creditLedger', (playerId) => exportLedger(app, playerId))
    deletion.exporters.set('creditPurchases', (playerId) => exportPurchases(app, playerId))
    deletion.losses.push(async (playerId) => loss(await app.credits.storedBalance(playerId), 'credit'))
    deletion.cleanups.push((em, playerId) => app.credits.forget(em, playerId))
    app.identity.playerLinks.push({
      label: 'Grant credits',
      order: 40,
      role: 'admin',
      href: (id) => `/admin/credits?player=${id}`,
    })
    app.site.navigation.push(
      { label: 'My credits', href: '/credits', place: 'account', order: 40, key: 'c' },
      { label: 'Credits', href: '/admin/credits', place: 'host', order: 30 },
    )
    contributePaymentProblems(app)
    await app.register(routes)
    await app.register(pages)
  },
)
