import { definePlugin } from '../../core/plugin.ts'
import { ReportDecision, ReportRow, StaffMessage } from './entities.ts'
import { migration } from './migrations/2026_11_23_reports.ts'
import { Moderation } from './moderation.ts'
import { auditPages } from './pages/audit.ts'
import { messagePages } from './pages/messages.ts'
import { queuePages } from './pages/queue-routes.ts'
import { reportPages, reportPath } from './pages/report.ts'
import { contributeToHostDashboard } from './reports/host-dashboard.ts'
import { routes } from './routes.ts'
import { registerJobs } from './scheduled-tasks.ts'
import { ModerationConfig, moderationLimits } from './schemas.ts'

export { type DecisionParts, Decisions } from './reports/decisions.ts'
export { type Case, readCases } from './reports/queue.ts'
export type { Decision } from './schemas.ts'

declare module 'fastify' {
  interface FastifyInstance {
    moderation: Moderation
  }
}

/** The tools of a public platform's staff: reports, their queue, and the audit log of all actions. */
export default definePlugin(
  {
    name: 'moderation',
    section: 'moderation',
    dependencies: ['oauth-idp', 'tokens', 'games', 'assets'],
    config: ModerationConfig,
    limits: moderationLimits,
    entities: [ReportRow, ReportDecision, StaffMessage],
    migrations: [migration],
  },
  async (app, config, limits) => {
    app.decorate('moderation', new Moderation(app, limits))
    const { reports, messages } = app.moderation
    registerJobs(app, config)
    app.identity.messenger = (em, playerId, message) => messages.sendIn(em, playerId, message)
    const { deletion, settings } = app.identity
    deletion.exporters.set('reports', (playerId) => reports.export(playerId))
    deletion.exporters.set('messages', (playerId) => messages.export(playerId))
    deletion.cleanups.push(async (em, playerId) => {
      await reports.forget(em, playerId)
      await messages.forget(em, playerId)
    })
    app.games.ownership.moves.push((em, { gameId, toId }) => reports.give(em, gameId, toId))
    app.games.deletion.reviews.push((em, id) => reports.isOpen(em, { kind: 'game', id }))
    app.assets.changes.reviews.push((em, id) => reports.isOpen(em, { kind: 'asset', id }))
    app.site.thingLinks.push({ label: 'Report', href: reportPath })
    settings.push({ label: 'Messages', href: '/settings/messages', order: 60 })
    app.identity.playerLinks.push({ label: 'Audit', order: 50, role: 'admin', href: (id) => `/admin/audit?q=${id}` })
    app.site.navigation.push(
      { label: 'Messages', href: '/settings/messages', place: 'account', order: 12, unread: true },
      { label: 'Reports', href: '/admin/reports', place: 'host', order: 5, role: 'moderator' },
      { label: 'Audit', href: '/admin/audit', place: 'host', order: 60 },
    )
    contributeToHostDashboard(app)
    await app.register(routes)
    await app.register(reportPages)
    await app.register(messagePages)
    await app.register(queuePages)
    await app.register(auditPages)
  },
)
