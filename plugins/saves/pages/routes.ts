import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { type PageOptions, renderPage } from '../../../core/pages/index.ts'
import { gamesOf, type NamedGame, namesOf } from '../player-saves.ts'
import { SaveParams } from '../schemas.ts'
import { pathOf, SavePage, SavesPage } from './saves-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Done = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
const List = Type.Object({ ...Done.properties, cursor: Type.Optional(Type.String({ maxLength: 30 })) })
/** The number of games on a page. */
const PER_PAGE = 50
const Params = Type.Object({ gameId: Type.String({ maxLength: 30 }), ...SaveParams.properties })

const DONE: Record<string, string> = {
  deleted: 'The save is deleted. You can put it back for 30 days.',
  restored: 'That version is the current one again.',
}

/** /settings/saves: a player's own saves of all games. */
export const pages: Routes = async (app) => {
  const { saves, identity } = app
  identity.settings.push({ label: 'Saves', href: '/settings/saves', order: 45 })

  app.get('/settings/saves', { ...signedIn, schema: { querystring: List } }, async (request, reply) => {
    const { cursor } = request.query
    const list = await gamesOf(app, callerOf(request).playerId, { limit: PER_PAGE, cursor })
    const body = SavesPage({ entries: identity.settings, ...list, paged: cursor !== undefined })
    return page(request, reply, { title: 'Saves', body })
  })

  app.get(
    '/settings/saves/:gameId/:key',
    { ...signedIn, schema: { params: Params, querystring: Done } },
    async (request, reply) => {
      const { gameId, key } = request.params
      const owner = { gameId, playerId: callerOf(request).playerId }
      const versions = await saves.versions(owner, key)
      const [game] = (await namesOf(app, owner.playerId, [gameId])) as [NamedGame]
      const body = SavePage({ entries: identity.settings, game, saveKey: key, versions })
      return page(request, reply, { title: key, body })
    },
  )

  app.get('/settings/saves/:gameId/:key/value', { ...signedIn, schema: { params: Params } }, async (request, reply) => {
    const { gameId, key } = request.params
    const save = await saves.find({ gameId, playerId: callerOf(request).playerId }, key)
    // It is somebody else's content at the portal's address, so it is never shown there.
    reply.headers({
      'cache-control': 'no-store',
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${key}${/[/+]json\b/.test(save.contentType) ? '.json' : ''}"`,
    })
    return reply.send(await save.read())
  })

  app.post(
    '/settings/saves/:gameId/:key/delete',
    { ...signedIn, schema: { params: Params } },
    async (request, reply) => {
      const { gameId, key } = request.params
      await saves.delete({ gameId, playerId: callerOf(request).playerId }, key)
      return reply.redirect(`${pathOf(gameId, key)}?done=deleted`, 303)
    },
  )

  app.post(
    '/settings/saves/:gameId/:key/restore',
    {
      ...signedIn,
      schema: {
        params: Params,
        body: Type.Object({
          version: Type.String({ pattern: '^[1-9][0-9]{0,9}$', advice: 'Use the number of a version.' }),
        }),
      },
    },
    async (request, reply) => {
      const { gameId, key } = request.params
      await saves.restore({ gameId, playerId: callerOf(request).playerId }, key, Number(request.body.version))
      return reply.redirect(`${pathOf(gameId, key)}?done=restored`, 303)
    },
  )
}

function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  const { done } = request.query as { done?: string }
  const message = done === undefined ? undefined : DONE[done]
  const flash = message ? { message } : null
  return renderPage(reply, { user: callerOf(request).viewer, current: '/settings', flash, ...options })
}
