import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { type PageOptions, renderPage } from '../../../core/pages/index.ts'
import type { Game } from '../../games/index.ts'
import { MOST_PER_DAY } from '../schemas.ts'
import type { Allowances } from './allowances.ts'
import { AllowancePage, AllowancesPage } from './allowances-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Done = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
const Params = Type.Object({ gameId: Type.String({ maxLength: 63 }) })
const NewAllowance = Type.Object({ creditsPerDay: Type.String({ maxLength: 20 }) })

const DONE: Record<string, string> = {
  revoked: 'That game can no longer spend your credits.',
}

/** /settings/ai: the games that may spend a player's credits on AI, and the page on which the player allows one. */
export const allowancePages =
  (allowances: Allowances): Routes =>
  async (app) => {
    const { credits, games, identity } = app
    identity.settings.push({ label: 'AI in games', href: '/settings/ai', order: 46 })

    app.get('/settings/ai', { ...signedIn, schema: { querystring: Done } }, async (request, reply) => {
      const { playerId } = callerOf(request)
      const list = await allowances.list(playerId)
      const seen = await games.seenBy(
        playerId,
        list.map(({ gameId }) => gameId),
      )
      const { available } = await credits.balance(playerId)
      const rows = list.map((allowance) => ({ ...allowance, game: seen.get(allowance.gameId) ?? null }))
      const body = AllowancesPage({ entries: identity.settings, rows, available })
      return page(request, reply, { title: 'AI in games', body })
    })

    app.get(
      '/settings/ai/:gameId',
      { ...signedIn, schema: { params: Params, querystring: Done } },
      async (request, reply) => {
        const game = await games.mustSee(callerOf(request).playerId, request.params.gameId)
        return show(request, reply, game, { isDone: request.query.done === 'allowed' })
      },
    )

    app.post(
      '/settings/ai/:gameId',
      { ...signedIn, schema: { params: Params, body: NewAllowance } },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const game = await games.mustSee(playerId, request.params.gameId)
        const entered = request.body.creditsPerDay.trim()
        const creditsPerDay = /^\d{1,6}$/.test(entered) ? Number(entered) : 0
        if (creditsPerDay < 1 || creditsPerDay > MOST_PER_DAY) return show(request, reply, game, { refused: entered })
        await allowances.allow(playerId, game.id, creditsPerDay)
        return reply.redirect(`/settings/ai/${game.id}?done=allowed`, 303)
      },
    )

    app.post('/settings/ai/:gameId/revoke', { ...signedIn, schema: { params: Params } }, async (request, reply) => {
      await allowances.revoke(callerOf(request).playerId, request.params.gameId)
      return reply.redirect('/settings/ai?done=revoked', 303)
    })

    async function show(
      request: FastifyRequest,
      reply: FastifyReply,
      game: Game,
      { isDone = false, refused }: { isDone?: boolean; refused?: string },
    ): Promise<string> {
      const { playerId, viewer } = callerOf(request)
      const [allowance, { available }, isGuest] = await Promise.all([
        allowances.find(playerId, game.id),
        credits.balance(playerId),
        allowances.isGuest(playerId),
      ])
      const body = AllowancePage({
        game,
        allowance,
        available,
        isGuest,
        isDone,
        refused,
        playerName: viewer?.name ?? '',
      })
      const status = refused === undefined ? 200 : 400
      return page(request, reply, { title: `AI in ${game.title}`, status, body })
    }
  }

function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  const { done } = request.query as { done?: string }
  const message = done === undefined ? undefined : DONE[done]
  const flash = message ? { message } : null
  return renderPage(reply, { user: callerOf(request).viewer, current: '/settings', flash, ...options })
}
