import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import { SESSION_MS } from '../../core/http/event-streams.ts'
import type { Routes } from '../../core/http/routes.ts'
import { extendPolicy } from '../../core/http/security-headers.ts'
import { html, renderPage } from '../../core/pages/index.ts'
import { VIEWER_POLICY } from '../assets/index.ts'
import { dashboardHeader } from '../games/index.ts'
import { initialPage } from './initial-page.ts'
import { draftPage } from './page-data.ts'

const constraints = { origin: 'portal' } as const
const own = {
  config: { auth: 'session', page: true },
  constraints,
  schema: { params: Type.Object({ slug: Type.String({ maxLength: 63 }) }) },
} as const

/** The tab *Code* of a game's dashboard, and what its page follows. */
export const pages: Routes = async (app) => {
  app.get('/games/:slug/code', own, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.drafts.mustEdit(playerId, request.params.slug)
    const path = `/games/${game.slug}/code`
    const page = await draftPage(app, playerId, game, path)
    extendPolicy(reply, VIEWER_POLICY)
    // The library of assets is on the Studio's origin.
    extendPolicy(reply, { 'connect-src': [app.origins.studio] })
    return renderPage(reply, {
      title: `Code of ${game.title}`,
      user: viewer,
      scripts: ['code.js'],
      preloadFonts: false,
      body: html`
        ${dashboardHeader(app, game, path)}
        <div data-code=${JSON.stringify(page)}>${initialPage(page)}</div>
        <noscript><p class="note">The editor needs JavaScript. Without it you can <a href=${`/games/${game.slug}/deploys`}>upload a build</a>.</p></noscript>`,
    })
  })

  app.get('/games/:slug/code/preview', own, async (request, reply) => {
    const { playerId } = callerOf(request)
    const game = await app.drafts.mustEdit(playerId, request.params.slug)
    const { id } = await app.drafts.store.open(game, playerId)
    const url = app.deploys.drafts.previewUrl(game.slug, id)
    if (!url) throw new NotFound('preview')
    const isPublic = app.games.visibleTo(null, game)
    const address = isPublic ? `${url}/` : await app.edge.previews.link(url, game, playerId)
    reply.headers({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      // Firefox can check this answer itself when the frame is replaced before it has followed it.
      'content-security-policy': "default-src 'none'; frame-ancestors 'self'",
    })
    return reply.redirect(address, 303)
  })

  app.get(
    '/live/games/:slug/code',
    { config: { auth: 'session' }, constraints, schema: { ...own.schema, hide: true } },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const { id, slug } = await app.drafts.mustEdit(playerId, request.params.slug)
      const look = async () => {
        const game = await app.drafts.mustEdit(playerId, slug)
        const { row } = await app.drafts.store.read(game.id)
        return { event: 'draft', data: { revision: row?.revision ?? 0, liveDeployId: game.liveDeployId } }
      }
      const shows = `the draft of ${slug} for ${playerId}`
      return app.eventStreams.send(reply, { key: `draft of ${id}`, shows, look, longestMs: SESSION_MS })
    },
  )
  app.events.on('draft.changed', ({ gameId }) => app.eventStreams.wake(`draft of ${gameId}`))
}
