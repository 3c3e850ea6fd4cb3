import { definePlugin } from '../../core/plugin.ts'
import { auditPages } from './pages/audit.ts'

/** The tools of a public platform's staff: the audit log of their actions. */
export default definePlugin(
  {
    name: 'moderation',
    dependencies: ['oauth-idp', 'games', 'assets'],
  },
  async (app) => {
    app.site.navigation.push({ label: 'Audit', href: '/admin/audit', place: 'host', order: 60 })
    await app.register(auditPages)
  },
)
