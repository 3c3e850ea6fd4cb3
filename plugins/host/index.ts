import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/storage/interface.ts'
import { jobPages } from './pages/jobs.ts'
import { logPages } from './pages/log.ts'
import { overviewPages } from './pages/overview.ts'
import { storagePages } from './pages/storage.ts'
import { StorageUse } from './storage-usage.ts'

declare module 'fastify' {
  interface FastifyInstance {
    storageUse: StorageUse
  }
}

/** The server's own pages, for whoever runs it: how it is, what it does, and what it is set to. */
export default definePlugin({ name: 'host', dependencies: ['oauth-idp'] }, async (app) => {
  app.decorate('storageUse', new StorageUse(app))
  app.site.navigation.push(
    { label: 'Overview', href: '/admin', place: 'host', order: 0, key: 'o' },
    { label: 'Jobs', href: '/admin/jobs', place: 'host', order: 40 },
    { label: 'Storage', href: '/admin/storage', place: 'host', order: 50 },
    { label: 'Log', href: '/admin/log', place: 'host', order: 60, key: 'l' },
    { label: 'Configuration', href: '/admin/config', place: 'host', order: 70 },
  )
  for (const pages of [overviewPages, jobPages, storagePages, logPages]) await app.register(pages)
})
