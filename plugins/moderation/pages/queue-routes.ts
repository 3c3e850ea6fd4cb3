import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import { actorOf, callerOf, staffPage } from '../../../core/http/auth.ts'
import { refusedForm } from '../../../core/http/forms/refused-forms.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { extendPolicy } from '../../../core/http/security-headers.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { ActionName, CATEGORIES, MESSAGE_LENGTH, TargetParams, UndoBody } from '../schemas.ts'
import { TEMPLATES } from '../words.ts'
import { flashOf, QueuePage } from './queue.ts'

/** The number of targets in the list beside the current one. */
const LISTED = 25

const Id = Type.Optional(Type.String({ maxLength: 40 }))
const Query = Type.Object({
  target: Id,
  page: Type.Integer({ minimum: 1, maximum: 10_000, default: 1 }),
  done: Id,
  undone: Id,
})

/** /admin/reports: the queue, one target at a time. */
export const queuePages: Routes = async (app) => {
  const { queue, decisions } = app.moderation

  const show = async (request: FastifyRequest, reply: FastifyReply, refused?: { status: number; message: string }) => {
    const {
      target: wanted,
      page = 1,
      done,
      undone,
    } = request.query as { target?: string; page?: number; done?: string; undone?: string }
    const [count, cases] = await Promise.all([
      queue.count(),
      queue.page({ limit: LISTED, offset: (page - 1) * LISTED }),
    ])
    const current =
      cases.find(({ id }) => id === wanted) ?? (wanted ? await queue.caseOf(wanted) : null) ?? cases[0] ?? null
    const ownerId = current?.target?.ownerId ?? null
    const [details, owner, outcome] = await Promise.all([
      current && queue.details(current, ownerId),
      ownerId === null ? null : app.identity.players.find(ownerId),
      done ? decisions.find(done) : null,
    ])
    const reporters = (details?.reports ?? []).flatMap(({ reporterId }) => (reporterId ? [reporterId] : []))
    const names = await app.identity.players.namesOf([...new Set(reporters)])
    if (current?.target?.look && 'frame' in current.target.look)
      extendPolicy(reply, { 'frame-src': [new URL(current.target.look.frame).origin] })
    reply.header('cache-control', 'no-store')
    const { playerId, viewer } = callerOf(request)
    const mayDecide = ownerId !== playerId || viewer?.role === 'admin'
    return renderPage(reply, {
      title: 'Reports',
      current: '/admin/reports',
      user: viewer,
      scripts: ['report-queue.js'],
      status: refused?.status ?? 200,
      flash: refused ? { tone: 'error', message: refused.message } : flashOf(outcome, undone !== undefined),
      body: QueuePage({
        cases,
        count,
        page,
        perPage: LISTED,
        current,
        details,
        owner,
        names,
        mayDecide,
        isRefused: (refused ?? refusedForm()) !== undefined,
        mayDisable: owner !== null && (viewer?.role === 'admin' ? owner.id !== playerId : owner.role === 'player'),
      }),
    })
  }

  app.get('/admin/reports', { ...staffPage, schema: { querystring: Query } }, (request, reply) => show(request, reply))

  app.post(
    '/admin/reports/:id',
    {
      ...staffPage,
      schema: {
        params: TargetParams,
        body: Type.Object({
          action: ActionName,
          template: Type.Optional(Type.String({ maxLength: 12 })),
          message: Type.Optional(Type.String({ maxLength: 3 * MESSAGE_LENGTH })),
          next: Id,
          page: Type.Optional(Type.String({ pattern: '^[0-9]{1,5}$', advice: 'Use the number of a page.' })),
        }),
      },
    },
    async (request, reply) => {
      const { action, template, message = '', next, page = '1' } = request.body
      const chosen = CATEGORIES.find((category) => category === template) ?? 'other'
      const words = action === 'dismiss' ? '' : message.trim() || TEMPLATES[chosen]
      return answer(request, reply, async () => {
        const { id } = await decisions.decide(request.params.id, { action, message: words }, actorOf(request))
        // A message decides nothing, so its target stays in sight.
        const then = action === 'write' ? request.params.id : next
        return `/admin/reports?page=${page}&done=${id}${then ? `&target=${encodeURIComponent(then)}` : ''}`
      })
    },
  )

  app.post('/admin/reports/undo', { ...staffPage, schema: { body: UndoBody } }, async (request, reply) =>
    answer(request, reply, async () => {
      const { target } = await decisions.undo(request.body.decisionId, actorOf(request))
      return `/admin/reports?undone=1&target=${target.id}`
    }),
  )

  /** Redirects to the address that `work` returns, or shows the queue with the reason of a refusal. */
  const answer = async (request: FastifyRequest, reply: FastifyReply, work: () => Promise<string>) => {
    try {
      return reply.redirect(await work(), 303)
    } catch (error) {
      if (!isPlatformError(error) || error.statusCode >= 500) throw error
      return show(request, reply, { status: error.statusCode, message: error.message })
    }
  }
}
