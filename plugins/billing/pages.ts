import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../core/errors.ts'
import { actorOf, adminPage, callerOf } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { randomText } from '../../core/ids.ts'
import { renderPage } from '../../core/pages/index.ts'
import { CreditsPage } from './credits-page.ts'
import { type GrantForm, GrantPage } from './grant-page.ts'

const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Text = Type.String({ default: '', maxLength: 4096 })
const MOST = 1_000_000

/** The portal's pages about credits. */
export const pages: Routes = async (app) => {
  app.get(
    '/credits',
    {
      ...own,
      schema: {
        querystring: Type.Object({
          cursor: Type.Optional(Type.String({ maxLength: 40 })),
          purchase: Type.Optional(Type.String({ maxLength: 30 })),
          cancelled: Type.Optional(Type.String({ maxLength: 1 })),
        }),
      },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const { cursor, purchase: id, cancelled } = request.query
      const balance = await app.credits.balance(playerId)
      const { entries, nextCursor } = await app.credits.ledger(playerId, cursor ? { cursor } : {})
      const found = id ? await app.purchases.find(playerId, id) : null
      const purchase = found && id ? { id, ...found } : null
      reply.header('cache-control', 'no-store')
      return renderPage(reply, {
        title: 'Credits',
        current: '/credits',
        user: viewer,
        scripts: purchase && !purchase.paid ? ['await-payment.js'] : [],
        body: CreditsPage({
          balance,
          debt: await app.purchases.debtOf(playerId),
          entries,
          nextCursor,
          cursor,
          purchase,
          packs: app.purchases.packs,
          cancelled: cancelled !== undefined,
        }),
      })
    },
  )

  app.post('/credits/buy', { ...own, schema: { body: Type.Object({ packId: Text }) } }, async (request, reply) => {
    const { url } = await app.purchases.begin(callerOf(request).playerId, request.body.packId)
    return reply.redirect(url, 303)
  })

  app.get(
    '/admin/credits',
    {
      ...adminPage,
      schema: {
        querystring: Type.Object({
          done: Type.Optional(Type.String()),
          player: Type.Optional(Type.String({ maxLength: 254 })),
        }),
      },
    },
    async (request, reply) =>
      grantPage(
        request,
        reply,
        { ...BLANK, player: request.query.player ?? '' },
        request.query.done === undefined ? null : 'The credits are on the account.',
      ),
  )

  app.post(
    '/admin/credits',
    {
      ...adminPage,
      // Credits are money of the host.
      preHandler: app.identity.recentSignIn('/admin/credits'),
      schema: { body: Type.Object({ player: Text, amount: Text, description: Text, key: Text }) },
    },
    async (request, reply) => {
      const { player, amount, description, key } = request.body
      const found = (await app.identity.administration.list({ q: player, limit: 100 })).players.find(
        ({ id, email }) => id === player.trim() || email?.toLowerCase() === player.trim().toLowerCase(),
      )
      const credits = Number(amount)
      const problems: Record<string, string> = {}
      if (!found) problems.player = 'There is no player with this address or id.'
      if (!Number.isSafeInteger(credits) || credits === 0 || Math.abs(credits) > MOST || amount.trim() === '')
        problems.amount = `Enter a whole number, up to ${MOST}.`
      if (description.trim() === '' || description.length > 200) problems.description = 'Say what they are for.'
      const form = { player, amount, description, problems }
      if (!found || Object.keys(problems).length > 0) return grantPage(request, reply, form)
      try {
        // The key makes a repeated submission grant only once.
        const once = `grant/${callerOf(request).playerId}/${key.slice(0, 40)}`
        const kind = credits > 0 ? 'grant' : 'adjustment'
        await app.credits.grant(found.id, credits, {
          kind,
          description: description.trim(),
          key: once,
          by: actorOf(request),
        })
      } catch (error) {
        if (!isPlatformError(error) || error.statusCode !== 402) throw error
        return grantPage(request, reply, { ...form, problems: { amount: 'The player does not have that many.' } })
      }
      request.log.info(
        { subject: found.id, credits, by: callerOf(request).playerId },
        'an administrator granted credits',
      )
      return reply.redirect('/admin/credits?done', 303)
    },
  )
}

/** The number of debts on the page. */
const DEBTS = 100
const BLANK: GrantForm = { player: '', amount: '', description: '', problems: {} }

async function grantPage(request: FastifyRequest, reply: FastifyReply, form: GrantForm, message: string | null = null) {
  const { purchases, identity } = request.server
  const debts = await purchases.debts(DEBTS)
  const names = await identity.players.namesOf(debts.map(({ playerId }) => playerId))
  reply.header('cache-control', 'no-store')
  return renderPage(reply, {
    title: 'Grant credits',
    current: '/admin/credits',
    user: callerOf(request).viewer,
    status: Object.keys(form.problems).length > 0 ? 400 : 200,
    flash: message === null ? null : { message },
    body: GrantPage({
      form,
      key: randomText(12),
      debts: debts.map((debt) => ({ ...debt, name: names.get(debt.playerId) ?? null })),
    }),
  })
}
