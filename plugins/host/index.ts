import { definePlugin } from '../../core/plugin.ts'
import type {} from '../../drivers/storage/interface.ts'
import { DESCRIPTOR_WATCH_MS, DescriptorWatch } from './descriptor-watch.ts'
import { DISK_WATCH_MS, DiskWatch } from './disk-watch.ts'
import { jobPages } from './pages/jobs.ts'
import { logPages } from './pages/log.ts'
import { overviewPages } from './pages/overview.ts'
import { storagePages } from './pages/storage.ts'
import { StorageUse } from './storage-usage.ts'
import { THREAD_WATCH_MS, ThreadWatch } from './thread-watch.ts'

declare module 'fastify' {
  interface FastifyInstance {
    storageUse: StorageUse
    diskWatch: DiskWatch
  }
}

/** The server's own pages for administrators: its state, its activity, and its settings. */
export default definePlugin({ name: 'host', dependencies: ['oauth-idp'] }, async (app) => {
  app.decorate('storageUse', new StorageUse(app))
  const watch = new DiskWatch(app)
  app.decorate('diskWatch', watch)
  const timer = setInterval(() => void watch.look(), DISK_WATCH_MS).unref()
  app.addHook('onReady', () => watch.look())
  const descriptors = new DescriptorWatch(app)
  const descriptorTimer = setInterval(() => void descriptors.look(), DESCRIPTOR_WATCH_MS).unref()
  const threads = new ThreadWatch(app)
  const threadTimer = setInterval(() => void threads.look(), THREAD_WATCH_MS).unref()
  app.addHook('onClose', async () => {
    clearInterval(threadTimer)
    clearInterval(timer)
    clearInterval(descriptorTimer)
  })
  app.site.navigation.push(
    { label: 'Overview', href: '/admin', place: 'host', order: 0, key: 'o' },
    { label: 'Jobs', href: '/admin/jobs', place: 'host', order: 40 },
    { label: 'Storage', href: '/admin/storage', place: 'host', order: 50 },
    { label: 'Log', href: '/admin/log', place: 'host', order: 60, key: 'l' },
    { label: 'Configuration', href: '/admin/config', place: 'host', order: 70 },
  )
  for (const pages of [overviewPages, jobPages, storagePages, logPages]) await app.register(pages)
})
