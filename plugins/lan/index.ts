import { qrCode, qrText } from '../../core/images/qr-code.ts'
import { definePlugin } from '../../core/plugin.ts'
import type {} from '../games/index.ts'
import type {} from '../oauth-idp/index.ts'
import { Announcer } from './announcer.ts'
import { Invitations } from './invite.ts'
import { pages } from './pages.ts'

/** Pages that help people on the same network to join. */
export default definePlugin({ name: 'lan', dependencies: ['oauth-idp', 'games'] }, async (app) => {
  const { lan } = app.config
  const { portal } = app.origins
  const { port } = new URL(portal)
  app.plainHttp.paths.push('/join/certificate')
  if (app.localAuthority) app.plainHttp.landing = '/join/certificate'
  const invitations = new Invitations()
  app.games.pageSections.push((game) =>
    invitations.onGamePage(game, app.games.isReady(game) && app.games.isShown(game)),
  )
  await app.register(pages)
  if (!lan.enabled) return

  app.site.navigation.push({ label: 'Join', href: '/join', place: 'main', order: 90 })
  app.announcements.push({
    label: 'Join',
    text: async () =>
      `${portal}/join is the page for the projector; ${lan.name}.local${port && `:${port}`} leads there too`,
    picture: async () => qrText(await qrCode(app.localAuthority ? portal.replace(/^https:/, 'http:') : portal)),
  })
  const { localAuthority } = app
  if (localAuthority) {
    const { name, fingerprint } = localAuthority
    app.announcements.push({ label: 'Trust', text: async () => `${name}, SHA-256 ${fingerprint}` })
  }
  if (app.siblings.number > 1) return // one process of the machine announces the name
  let announcer: Promise<Announcer | null> | undefined
  app.addHook(app.ports.shared ? 'onReady' : 'onListen', async () => {
    announcer = Announcer.open({ name: lan.name, address: app.config.listen.host, log: app.log }).catch((error) => {
      app.log.warn(`${lan.name}.local can't be announced (${error.message}); the address works without it`)
      return null
    })
  })
  app.addHook('preClose', async () => {
    await (await announcer)?.close()
  })
})
