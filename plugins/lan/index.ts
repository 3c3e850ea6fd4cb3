import { definePlugin } from '../../core/plugin.ts'
import type {} from '../oauth-idp/index.ts'
import { Announcer } from './announcer.ts'
import { pages } from './pages.ts'
import { qrCode, qrText } from './qr.ts'

/** How people in the same network come in. */
export default definePlugin({ name: 'lan', dependencies: ['oauth-idp'] }, async (app) => {
  const { lan } = app.config
  const { portal } = app.origins
  await app.register(pages)
  if (!lan.enabled) return

  app.site.navigation.push({ label: 'Join', href: '/join', place: 'main', order: 90 })
  app.announcements.push({
    label: 'Join',
    text: async () => `${portal}/join is the page for the projector; ${lan.name}.local leads there too`,
    picture: async () => qrText(await qrCode(portal)),
  })
  let announcer: Promise<Announcer> | undefined
  app.addHook('onListen', async () => {
    announcer = Announcer.open({ name: lan.name, address: app.config.listen.host, log: app.log })
  })
  app.addHook('preClose', async () => {
    await (await announcer)?.close()
  })
})
