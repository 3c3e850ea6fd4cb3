import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches } from '../../core/data/database.ts'
import { PLATFORM } from '../../core/jobs/jobs.ts'
import { UNDO_MS } from './reports/decisions.ts'
import { TELL, TELL_SUSPENSION } from './reports/outcomes.ts'
import type { TargetRef } from './reports/targets.ts'
import type { ModerationConfig } from './schemas.ts'

const DAY_S = 24 * 3600

/** Registers the jobs of reports: what tells of decisions, the mail digest, and the retention. */
export function registerJobs(app: FastifyInstance, { digest, keepDays }: ModerationConfig): void {
  app.jobs.handle<{ decisionId: string }>(TELL, ({ payload }) => app.moderation.outcomes.tell(payload.decisionId))
  app.jobs.handle<TargetRef & { reason: string }>(TELL_SUSPENSION, ({ payload }) =>
    app.moderation.outcomes.tellSuspension(payload),
  )
  const tellLater =
    (kind: 'game' | 'asset') =>
    (em: SqlEntityManager, { id, reason }: { id: string; reason: string }) =>
      app.jobs.enqueue(em, {
        name: TELL_SUSPENSION,
        key: id,
        owner: PLATFORM,
        payload: { kind, id, reason },
        runAt: new Date(app.clock.now().getTime() + UNDO_MS),
      })
  app.games.suspensions.followers.push(tellLater('game'))
  app.assets.suspensions.followers.push(tellLater('asset'))
  if (digest) app.jobs.every('moderation/digest', DAY_S, () => sendDigest(app))
  app.jobs.every('moderation/purge', DAY_S, ({ signal }) => sweepReports(app, keepDays, signal))
}

/** Writes to all staff that reports are open; nothing when none is. */
export async function sendDigest(app: Pick<FastifyInstance, 'db' | 'identity' | 'moderation' | 'site'>): Promise<void> {
  const { queue } = app.moderation
  const open = await queue.count()
  if (open === 0) return
  const cases = await queue.page({ limit: 10, offset: 0 })
  const lines = cases.map(
    ({ kind, target, reports, categories, urgent }) =>
      `- ${urgent ? 'URGENT: ' : ''}${kind} ${target?.title ?? '(deleted)'}: ${reports} (${categories.join(', ')})`,
  )
  const rest = open > cases.length ? [`and ${open - cases.length} more`] : []
  const subject = `${open} reported ${open === 1 ? 'thing waits' : 'things wait'} on ${app.site.name}`
  const text = `Reports about these are open:\n\n${[...lines, ...rest].join('\n')}\n\n${app.site.portalUrl}/admin/reports\n`
  await app.db.transaction((em) => app.identity.writeToStaff(em, subject, text))
}

/** Deletes closed reports, decisions and messages after their time. */
export async function sweepReports(
  { db, clock, identity }: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>,
  keepDays: number,
  signal: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now().getTime() - keepDays * DAY_S * 1000)
  const parameters = [before]
  const key = ['id']
  await deleteInBatches(db, { table: 'reports', key, where: 'decided_at < ?', parameters }, signal)
  await deleteInBatches(db, { table: 'report_decisions', key, where: '"at" < ?', parameters }, signal)
  await deleteInBatches(db, { table: 'staff_messages', key, where: '"at" < ?', parameters }, signal)
  await identity.unread.sweep(before, signal)
}
