import { actorOf } from '../../core/http/auth.ts'
import { bodyWithText } from '../../core/http/limits/body-limits.ts'
import { fitsColumn, OtherCursor, PageQuery } from '../../core/http/pagination.ts'
import { callerAddress } from '../../core/http/rate-limit.ts'
import type { Routes } from '../../core/http/routes.ts'
import type { Case } from './reports/queue.ts'
import type { Target } from './reports/targets.ts'
import {
  Decision,
  NewDecision,
  NewReport,
  Report,
  type ReportedTarget,
  ReportedTargets,
  TargetParams,
  TEXT_LENGTH,
  UndoBody,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
const tags = ['reports']

/** The API of reports, for everybody and for the staff. */
export const routes: Routes = async (app) => {
  const staff = { config: { auth: 'session', role: 'moderator' }, constraints } as const
  const { reports, queue, decisions } = app.moderation

  app.post(
    '/api/reports',
    {
      config: { auth: 'optional' },
      constraints,
      bodyLimit: bodyWithText(TEXT_LENGTH),
      schema: {
        summary: 'Report a game, an asset or a player',
        description:
          'Anybody may report, without an account too. A reporter has one open report about a target: a second one replaces its category and text, and is answered 200.',
        tags,
        body: NewReport,
        response: { 200: Report, 201: Report },
      },
    },
    async (request, reply) => {
      const { target, ...words } = request.body
      const reporter = { playerId: request.principal?.playerId ?? null, address: callerAddress(request) }
      const { report, created } = await reports.file(target, words, reporter)
      return reply.code(created ? 201 : 200).send(report)
    },
  )

  app.get(
    '/api/admin/reports',
    {
      ...staff,
      schema: {
        summary: 'List what has open reports (moderators and administrators)',
        description: 'Urgent targets come first, then those with most reports, then the oldest.',
        tags,
        querystring: PageQuery,
        response: { 200: ReportedTargets },
      },
    },
    async (request, reply) => {
      const { limit, cursor } = request.query
      const offset = cursor ? (/^\d+$/.test(cursor) ? Number(cursor) : Number.NaN) : 0
      if (!fitsColumn(offset, 'integer')) throw new OtherCursor()
      const cases = await queue.page({ limit: limit + 1, offset })
      reply.header('cache-control', 'no-store')
      const targets = cases.slice(0, limit).map(describe)
      return { targets, nextCursor: cases.length > limit ? String(offset + limit) : null }
    },
  )

  app.post(
    '/api/admin/reports/:id',
    {
      ...staff,
      schema: {
        summary: 'Decide about a reported thing (moderators and administrators)',
        description: 'By the id of the target. Owner and reporters are told ten minutes later, unless it is undone.',
        tags,
        params: TargetParams,
        body: NewDecision,
        response: { 201: Decision },
      },
    },
    async (request, reply) => {
      const decision = await decisions.decide(request.params.id, request.body, actorOf(request))
      return reply.code(201).send(decision)
    },
  )

  app.post(
    '/api/admin/reports/undo',
    {
      ...staff,
      schema: {
        summary: 'Undo a decision (moderators and administrators)',
        tags,
        body: UndoBody,
        response: { 200: Decision },
      },
    },
    async (request) => decisions.undo(request.body.decisionId, actorOf(request)),
  )
}

const describe = ({ kind, id, target, ...each }: Case & { target: Target | null }): ReportedTarget => ({
  target: { kind, id },
  title: target?.title ?? '',
  ownerId: target?.ownerId ?? null,
  urgent: each.urgent,
  reports: each.reports,
  categories: each.categories,
  firstAt: each.firstAt.toISOString(),
  page: `/admin/reports?target=${id}`,
})
