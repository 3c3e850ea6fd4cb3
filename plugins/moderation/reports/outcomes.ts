import type { FastifyInstance } from 'fastify'
import { markOnce } from '../../../core/data/consume-once.ts'
import { ReportDecision, ReportRow } from '../entities.ts'
import type { StaffMessages } from './messages.ts'
import type { Target, TargetRef, Targets } from './targets.ts'

/** The job that tells owner and reporters about a decision. */
export const TELL = 'moderation/tell'
/** The job that tells the owner about a suspension without reports. */
export const TELL_SUSPENSION = 'moderation/tell-suspension'

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'site'> & { targets: Targets; messages: StaffMessages }

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
    const { db, clock, identity, targets, messages } = this.#parts
    const decision = await db.em().findOne(ReportDecision, { id: decisionId })
    if (!decision) return
    const target = await targets.find({ kind: decision.targetKind, id: decision.targetId })
    await db.transaction(async (em) => {
      const untold = { id: decisionId, undoneAt: null, toldAt: null }
      if (!(await markOnce(em, ReportDecision, untold, { toldAt: clock.now() }))) return
      const stands = decision.action !== 'suspend' || (target && (await targets.causeIn(em, target)) === decisionId)
      if (decision.action === 'disable' && decision.changed && decision.ownerId)
        await identity.writeDisabled(em, decision.ownerId)
      const owner = target && stands && this.#toOwner(decision, target)
      if (owner && decision.ownerId) await messages.sendIn(em, decision.ownerId, owner)
      const reports = await em.find(ReportRow, { decisionId, reporterId: { $ne: null } }, { fields: ['reporterId'] })
      for (const playerId of new Set(reports.map(({ reporterId }) => reporterId as string)))
        await messages.sendIn(em, playerId, toReporter(decision, target))
    })
  }

  /** Tells the owner about a suspension by hand, if it stands with its reason. */
  async tellSuspension({ reason, ...ref }: TargetRef & { reason: string }): Promise<void> {
    const { db, targets, messages } = this.#parts
    const target = await targets.find(ref)
    if (target?.suspended !== reason) return
    await db.transaction(async (em) => {
      if ((await targets.causeIn(em, ref)) !== 'staff') return
      await messages.sendIn(em, target.ownerId, this.#suspended(target, reason))
    })
  }

  #suspended(target: Target, message: string | null | undefined): { subject: string; text: string } {
    const page = `${this.#parts.site.portalUrl}${target.page}`
    const answer = target.kind === 'game' ? `${page}/overview` : page
    return {
      subject: `${target.title} is suspended`,
      text: `${message}\n\nNothing is deleted. You can answer once: ${answer}`,
    }
  }

  #toOwner({ action, changed, message }: ReportDecision, target: Target): { subject: string; text: string } | null {
    const page = `${this.#parts.site.portalUrl}${target.page}`
    if (action === 'write') return { subject: `About ${target.title}`, text: `${message}\n\n${page}` }
    return action === 'suspend' && changed ? this.#suspended(target, message) : null
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
