import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Actor } from '../../../core/data/audit.ts'
import { REASON_LENGTH } from '../../../core/data/staff/suspensions.ts'
import { invalidField } from '../../../core/errors.ts'
import { actorOf, adminPage, callerOf, staffPage } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { type PageOptions, renderPage } from '../../../core/pages/index.ts'
import { downloadHeaders } from '../players/data-export.ts'
import { decisionsOf } from '../players/shared-content.ts'
import { slipsOf } from './invitation-slips.ts'
import type { NewInvitation } from './invitations.ts'
import { InvitationsPage } from './invitations-page.ts'
import { PlayerPage } from './player-page.ts'
import { PlayersPage } from './players-page.ts'
import { mustBeAnother, mustBeBelow, roleOf } from './rules.ts'

const Params = Type.Object({ id: Type.String() })
/** The fields about what others use as well have names of their own (players/shared-content.ts). */
const Deletion = Type.Object(
  { confirm: Type.Optional(Type.String({ maxLength: 100 })) },
  { additionalProperties: Type.String({ maxLength: 30 }) },
)
const NameBody = Type.Object({ name: Type.String({ maxLength: 4096 }) })
const Done = Type.Object({ done: Type.Optional(Type.String()) })

const RoleBody = Type.Object({
  role: Type.Union([Type.Literal('player'), Type.Literal('moderator'), Type.Literal('admin')]),
})

const PlayerState = Type.Union([Type.Literal('disabled'), Type.Literal('trusted'), Type.Literal('guest')])

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = {
  disable: 'Shut out: every session and token has ended.',
  enable: 'Let in again.',
  trust: 'Trusted: their games are published without approval.',
  distrust: 'No longer trusted. Published games stay published.',
  role: 'The role has changed. It holds at once.',
  'sign-out': 'Signed out everywhere.',
  rename: 'The name has changed.',
  'picture/remove': 'The picture is removed.',
  delete: 'The player is deleted.',
  withdraw: 'The invitation is withdrawn.',
}

interface StepFields {
  withContent?: unknown
  reason?: unknown
}

const CHANGED = 'an administrator changed a player'
/** The most invitations of one form; the work of one request is bounded. */

/** Pages on players and invitations, for administrators and moderators of the server. */
export const adminPages: Routes = async (app) => {
  const { administration, config, deletion, invitations } = app.identity
  /** What can't be taken back, or gives the server away. */
  const recently = app.identity.recentSignIn('/admin/players/:id')

  app.get(
    '/admin/players',
    {
      ...staffPage,
      schema: {
        querystring: Type.Object({
          q: Type.Optional(Type.String({ maxLength: 200 })),
          role: Type.Optional(RoleBody.properties.role),
          state: Type.Optional(PlayerState),
          cursor: Type.Optional(Type.String({ maxLength: 40 })),
          done: Type.Optional(Type.String()),
        }),
      },
    },
    async (request, reply) => {
      const { q, role, state, cursor } = request.query
      const { players, nextCursor } = await administration.list({
        q,
        role,
        state,
        limit: 50,
        ...(cursor ? { cursor } : {}),
      })
      return page(request, reply, {
        title: 'Players',
        current: '/admin/players',
        body: PlayersPage({
          players,
          nextCursor,
          q,
          filter: { role, state },
          paged: cursor !== undefined,
          invites: config.signUp !== 'closed' && roleOf(request) === 'admin',
        }),
      })
    },
  )

  app.get(
    '/admin/players/:id',
    { ...staffPage, schema: { params: Params, querystring: Done } },
    async (request, reply) => playerPage(request, reply, request.params.id),
  )

  app.post(
    '/admin/players/:id/delete',
    {
      ...adminPage,
      preHandler: recently,
      schema: { params: Params, body: Deletion },
    },
    async (request, reply) => {
      const { id } = request.params
      mustBeAnother(request, id)
      await administration.find(id)
      if (request.body.confirm?.trim().toUpperCase() !== id.slice(-6)) {
        throw invalidField('confirm', `Nothing was deleted: type ${id.slice(-6)} to confirm.`)
      }
      await administration.remove(id, decisionsOf(request.body), actorOf(request))
      request.log.info({ step: 'delete', subject: id, by: callerOf(request).playerId }, CHANGED)
      return reply.redirect('/admin/players?done=delete', 303)
    },
  )

  const steps: Record<string, (id: string, by: Actor, fields: StepFields) => Promise<void>> = {
    disable: (id, by, { withContent, reason }) =>
      administration.setDisabled(id, true, {
        by,
        withContent: withContent === 'on',
        reason: typeof reason === 'string' ? reason.trim().slice(0, REASON_LENGTH) : undefined,
      }),
    enable: (id, by) => administration.setDisabled(id, false, { by }),
    trust: (id, by) => administration.setTrusted(id, true, by),
    distrust: (id, by) => administration.setTrusted(id, false, by),
    'picture/remove': (id, by) => administration.removePicture(id, by),
    'sign-out': (id, by) => administration.signOutEverywhere(id, by),
  }
  for (const [step, take] of Object.entries(steps)) {
    // Both configurations differ only in the role, so they share one type.
    const config: FastifyContextConfig = (step === 'sign-out' ? adminPage : staffPage).config
    const route = { ...staffPage, config, schema: { params: Params } }
    app.post(`/admin/players/:id/${step}`, route, async (request, reply) => {
      const { id } = request.params
      if (step !== 'sign-out') mustBeAnother(request, id)
      mustBeBelow(request, await administration.find(id))
      // Only the form that disables a player has fields.
      await take(id, actorOf(request), (request.body ?? {}) as StepFields)
      request.log.info({ step, subject: id, by: callerOf(request).playerId }, CHANGED)
      return reply.redirect(`/admin/players/${id}?done=${step}`, 303)
    })
  }

  app.post(
    '/admin/players/:id/role',
    { ...adminPage, preHandler: recently, schema: { params: Params, body: RoleBody } },
    async (request, reply) => {
      const { id } = request.params
      mustBeAnother(request, id)
      await administration.setRole(id, request.body.role, actorOf(request))
      request.log.info({ step: 'role', role: request.body.role, subject: id, by: callerOf(request).playerId }, CHANGED)
      return reply.redirect(`/admin/players/${id}?done=role`, 303)
    },
  )

  app.post(
    '/admin/players/:id/rename',
    { ...staffPage, schema: { params: Params, body: NameBody } },
    async (request, reply) => {
      const { id } = request.params
      mustBeAnother(request, id)
      mustBeBelow(request, await administration.find(id))
      await administration.rename(id, request.body.name, actorOf(request))
      request.log.info({ step: 'rename', subject: id, by: callerOf(request).playerId }, CHANGED)
      return reply.redirect(`/admin/players/${id}?done=rename`, 303)
    },
  )

  app.post(
    '/admin/players/:id/password-link',
    { ...adminPage, preHandler: recently, schema: { params: Params } },
    async (request, reply) => {
      const { id } = request.params
      mustBeAnother(request, id)
      const link = await administration.makePasswordLink(id, actorOf(request))
      request.log.info({ step: 'password-link', subject: id, by: callerOf(request).playerId }, CHANGED)
      return playerPage(request, reply, id, link)
    },
  )

  app.post(
    '/admin/players/:id/export',
    { ...adminPage, preHandler: recently, schema: { params: Params } },
    async (request, reply) => {
      const { id } = request.params
      mustBeAnother(request, id)
      const text = await administration.exportData(id, actorOf(request))
      request.log.info({ step: 'export', subject: id, by: callerOf(request).playerId }, CHANGED)
      return reply.headers(downloadHeaders(`${id}.json`)).send(text)
    },
  )

  app.get('/admin/invitations', { ...adminPage, schema: { querystring: Done } }, async (request, reply) =>
    invitationsPage(request, reply),
  )

  app.post(
    '/admin/invitations',
    { ...adminPage, schema: { body: Type.Object({ note: Type.Optional(Type.String({ maxLength: 20_000 })) }) } },
    async (request, reply) => {
      const lines = (request.body.note ?? '').split('\n').filter((line) => line.trim() !== '')
      const made = await invitations.make(lines.length > 0 ? lines : [''], actorOf(request))
      reply.code(201)
      return invitationsPage(request, reply, made)
    },
  )

  app.post('/admin/invitations/:id/withdraw', { ...adminPage, schema: { params: Params } }, async (request, reply) => {
    await invitations.withdraw(request.params.id, actorOf(request))
    return reply.redirect('/admin/invitations?done=withdraw', 303)
  })

  const playerPage = async (request: FastifyRequest, reply: FastifyReply, id: string, passwordLink?: string) => {
    const player = await administration.find(id)
    const viewerRole = roleOf(request)
    return page(request, reply, {
      title: `Manage ${player.name}`,
      current: '/admin/players',
      status: passwordLink ? 201 : 200,
      body: PlayerPage({
        player,
        isMe: id === callerOf(request).playerId,
        viewerRole,
        links: player.isGuest ? [] : app.identity.playerLinks,
        sharedContent: await deletion.sharedContentOf(id),
        losses: viewerRole === 'admin' ? await deletion.lossesOf(id) : '',
        passwordLink,
      }),
    })
  }

  const invitationsPage = async (request: FastifyRequest, reply: FastifyReply, made: NewInvitation[] = []) =>
    page(request, reply, {
      title: 'Invitations',
      current: '/admin/players',
      status: made.length > 0 ? 201 : 200,
      body: InvitationsPage({
        invitations: await invitations.list(),
        made: await slipsOf(made),
        signUpAddress: `${new URL(app.origins.portal).host}/sign-up`,
        signUp: config.signUp,
      }),
    })
}

function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  const { done } = request.query as { done?: string }
  const message = done === undefined ? undefined : DONE[done]
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, flash: message ? { message } : null, ...options })
}
