import { definePlugin } from '../../core/plugin.ts'
import { auditPages } from './pages/audit.ts'

/** What the staff of a public platform works with: the audit of what they did. */
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
