import type { FastifyInstance } from 'fastify'
import { markOnce } from '../../../core/data/consume-once.ts'
import { ReportDecision, ReportRow } from '../entities.ts'
import type { StaffMessages } from './messages.ts'
import type { Target, Targets } from './targets.ts'

/** The job that tells owner and reporters about a decision. */
export const TELL = 'moderation/tell'

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'site'> & { targets: Targets; messages: StaffMessages }

/** Tells the owner and the reporters what was decided, once, unless the decision was undone before. */
export class Outcomes {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Sends the messages of a decision in one transaction. A decision that was undone, or told, sends nothing, and the
   * owner reads of no suspension that was lifted or replaced meanwhile.
   */
  async tell(decisionId: string): Promise<void> {
    const { db, clock, targets, messages } = this.#parts
    const decision = await db.em().findOne(ReportDecision, { id: decisionId })
    if (!decision) return
    const target = await targets.find({ kind: decision.targetKind, id: decision.targetId })
    await db.transaction(async (em) => {
      const untold = { id: decisionId, undoneAt: null, toldAt: null }
      if (!(await markOnce(em, ReportDecision, untold, { toldAt: clock.now() }))) return
      const stands = decision.action !== 'suspend' || (target && (await targets.causeIn(em, target)) === decisionId)
      const owner = target && stands && this.#toOwner(decision, target)
      if (owner && decision.ownerId) await messages.sendIn(em, decision.ownerId, owner)
      const reports = await em.find(ReportRow, { decisionId, reporterId: { $ne: null } }, { fields: ['reporterId'] })
      for (const playerId of new Set(reports.map(({ reporterId }) => reporterId as string)))
        await messages.sendIn(em, playerId, toReporter(decision, target))
    })
  }

  #toOwner({ action, changed, message }: ReportDecision, target: Target): { subject: string; text: string } | null {
    const page = `${this.#parts.site.portalUrl}${target.page}`
    if (action === 'write') return { subject: `About ${target.title}`, text: `${message}\n\n${page}` }
    if (action !== 'suspend' || !changed) return null
    const answer = target.kind === 'game' ? `${page}/overview` : page
    return {
      subject: `${target.title} is suspended`,
      text: `${message}\n\nNothing is deleted. You can answer once: ${answer}`,
    }
  }
}

function toReporter({ action }: ReportDecision, target: Target | null): { subject: string; text: string } {
  const title = target?.title ?? 'something that is deleted now'
  const subject = `Your report about ${title}`
  if (action === 'dismiss')
    return {
      subject,
      text: `You reported ${title}. We looked at it, and left it as it is. Thank you for writing to us.`,
    }
  return { subject, text: `You reported ${title}. We looked at it, and acted on it. Thank you for writing to us.` }
}
