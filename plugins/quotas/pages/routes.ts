import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest } from '../../../core/errors.ts'
import { actorOf, adminPage, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { type PageOptions, renderPage } from '../../../core/pages/index.ts'
import { type LimitChanges, PlayerParams, QUOTA_NAMES, type QuotaName, USAGE_RATE_LIMIT } from '../schemas.ts'
import { PlayerQuotasPage, PlayersPage } from './players-page.ts'
import { UsagePage } from './usage-page.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Done = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
const Text = Type.Optional(Type.String({ maxLength: 20 }))
/** The maximum number of players on the administrators' list. */
const LISTED = 100

/** /settings/storage of every player, and /admin/quotas of administrators. */
export const pages: Routes = async (app) => {
  const { quotas, identity } = app
  identity.settings.push({ label: 'Storage', href: '/settings/storage', order: 50 })

  const options = { ...signedIn, config: { ...signedIn.config, rateLimit: USAGE_RATE_LIMIT } }
  app.get('/settings/storage', { ...options, schema: { querystring: Done } }, async (request, reply) => {
    const usage = await quotas.usage(callerOf(request).playerId)
    const labels = new Map([...quotas.kinds].map(([kind, { label }]) => [kind, label]))
    return page(request, reply, {
      title: 'Storage',
      current: '/settings',
      flash: request.query.done === 'removed' ? { message: 'That is deleted.' } : null,
      body: UsagePage({ entries: identity.settings, usage, labels }),
    })
  })

  app.post(
    '/settings/storage/remove',
    {
      ...signedIn,
      schema: { body: Type.Object({ kind: Type.String({ maxLength: 20 }), id: Type.String({ maxLength: 70 }) }) },
    },
    async (request, reply) => {
      const kind = quotas.kinds.get(request.body.kind)
      if (!kind) throw new InvalidRequest('There is nothing of that kind.')
      await kind.remove(callerOf(request).playerId, request.body.id)
      return reply.redirect('/settings/storage?done=removed#largest', 303)
    },
  )

  app.get('/admin/quotas', adminPage, async (request, reply) => {
    const largest = await quotas.largestPlayers(LISTED)
    const names = await identity.players.namesOf(largest.map(({ playerId }) => playerId))
    const players = largest.map((use) => ({ ...use, name: names.get(use.playerId) ?? 'Deleted account' }))
    return page(request, reply, { title: 'Quotas', current: '/admin/quotas', body: PlayersPage({ players }) })
  })

  app.get(
    '/admin/quotas/:playerId',
    { ...adminPage, schema: { params: PlayerParams, querystring: Done } },
    async (request, reply) => {
      const player = await identity.administration.find(request.params.playerId)
      return page(request, reply, {
        title: `Quotas of ${player.name}`,
        current: '/admin/quotas',
        flash: request.query.done === 'saved' ? { message: 'Saved. They hold from the next upload on.' } : null,
        body: PlayerQuotasPage({
          player,
          quotas: await quotas.quotasOf(player.id),
          overrides: await quotas.limits.overridesOf(player.id),
        }),
      })
    },
  )

  app.post(
    '/admin/quotas/:playerId',
    {
      ...adminPage,
      schema: {
        params: PlayerParams,
        body: Type.Object({
          storageBytesPerPlayer: Text,
          gamesPerPlayer: Text,
          assetsPerPlayer: Text,
          uploadBytesPerDay: Text,
        }),
      },
    },
    async (request, reply) => {
      const player = await identity.administration.find(request.params.playerId)
      const { changes, problems } = changesOf(request.body)
      if (Object.keys(problems).length > 0) {
        return page(request, reply, {
          title: `Quotas of ${player.name}`,
          current: '/admin/quotas',
          status: 400,
          body: PlayerQuotasPage({
            player,
            problems,
            typed: request.body,
            quotas: await quotas.quotasOf(player.id),
            overrides: await quotas.limits.overridesOf(player.id),
          }),
        })
      }
      await quotas.limits.change(player.id, changes, actorOf(request))
      return reply.redirect(`/admin/quotas/${player.id}?done=saved`, 303)
    },
  )
}

/** Parses a form: empty for the configured limit, `none`, or a number. A missing field changes nothing. */
function changesOf(fields: Partial<Record<QuotaName, string>>) {
  const changes: LimitChanges = {}
  const problems: Partial<Record<QuotaName, string>> = {}
  for (const name of QUOTA_NAMES) {
    const text = fields[name]?.trim().toLowerCase()
    if (text === undefined) continue
    if (text === '') changes[name] = 'default'
    else if (text === 'none') changes[name] = null
    else if (/^\d{1,15}$/.test(text)) changes[name] = Number(text)
    else problems[name] = 'Type a whole number, “none”, or nothing.'
  }
  return { changes, problems }
}

function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, ...options })
}
