import { renderPage } from '../../core/pages.ts'
import type { Routes } from '../../core/routes.ts'
import { JoinPage } from './join-page.ts'
import { qrCode, qrPath } from './qr.ts'

const open = { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' } } as const

/** How people come in. */
export const pages: Routes = async (app) => {
  const { lan } = app.config
  const { portal, secure } = app.origins
  const { host, port } = new URL(portal)
  const alias = lan.enabled ? `${lan.name}.local${port && `:${port}`}` : null
  // The same for everyone, and made once.
  let qr: Promise<ReturnType<typeof qrPath>> | undefined

  app.get('/join', open, async (request, reply) => {
    qr ??= qrCode(portal).then(qrPath)
    return renderPage(reply, {
      title: 'Join',
      current: '/join',
      description: `How to come in: ${host}`,
      user: request.principal?.viewer,
      body: JoinPage({
        siteName: app.site.name,
        address: portal,
        alias,
        qr: await qr,
        signedIn: request.principal !== null,
        guests: app.identity.signUp.takesGuests,
        signUpIsOpen: app.identity.players.signUpIsOpen,
        certificate: lan.enabled && secure,
      }),
    })
  })
}
