import { definePlugin } from '../../core/plugin.ts'
import { QuotaAccount, QuotaOverride, SharedBlob, StoredBytes } from './entities.ts'
import { migration } from './migrations/2026_11_23_quotas.ts'
import { pages } from './pages/routes.ts'
import { Quotas } from './quotas.ts'
import { Recount } from './recount.ts'
import { routes } from './routes.ts'
import { QuotaLimits } from './schemas.ts'

export { QuotaExceeded } from './errors.ts'
export type { ReadTallies } from './game-usage.ts'
export { PlayerLimitsStore } from './player-limits.ts'
export type { Quotas } from './quotas.ts'
export type { LimitChanges, StoredThing } from './schemas.ts'
export type { Blob } from './storage-accounts.ts'
export type { StoredKind, Tally } from './stored-kinds.ts'

declare module 'fastify' {
  interface FastifyInstance {
    quotas: Quotas
  }
}

/** Quotas: the limits of each player, and the counts of what they store. */
export default definePlugin(
  {
    name: 'quotas',
    dependencies: ['oauth-idp'],
    limits: QuotaLimits,
    entities: [QuotaAccount, StoredBytes, SharedBlob, QuotaOverride],
    migrations: [migration],
  },
  async (app, _config, limits) => {
    app.decorate('quotas', new Quotas(app, limits))
    const recount = new Recount(app, app.quotas)
    app.jobs.every('quotas/recount', 24 * 3600, async ({ signal }) => void (await recount.run(signal)))
    app.identity.deletion.exporters.set('quotas', (playerId) => app.quotas.quotasOf(playerId))
    app.identity.deletion.cleanups.push((em, playerId) => app.quotas.forget(em, playerId))
    app.identity.playerLinks.push({ label: 'Quotas', order: 30, role: 'admin', href: (id) => `/admin/quotas/${id}` })
    app.site.navigation.push({ label: 'Quotas', href: '/admin/quotas', place: 'host', order: 15 })
    await app.register(routes)
    await app.register(pages)
  },
)
