import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { type Actor, recordAction } from '../../../core/data/audit.ts'
import { markOnce } from '../../../core/data/consume-once.ts'
import { InvalidRequest, NotFound } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { PLATFORM } from '../../../core/jobs/jobs.ts'
import { holdGamesOf, holdOwners } from '../../games/index.ts'
import { ReportDecision, ReportRow } from '../entities.ts'
import { ChangedSince, MessageSent, NothingOpen, OwnCase, TargetGone, UndoneAlready } from '../errors.ts'
import { type Decision, type DecisionAction, MESSAGE_LENGTH } from '../schemas.ts'
import { TELL } from './outcomes.ts'
import { kindOfId, type Target, type TargetRef, type Targets } from './targets.ts'

/** The time in ms until owner and reporters are told. Until then an undo leaves no trace with them. */
export const UNDO_MS = 10 * 60_000

type Announce = () => Promise<void>
const silent: Announce = async () => {}

/** What a decision needs. A shell command passes parts that do no more than it uses. */
export interface DecisionParts extends Pick<FastifyInstance, 'db' | 'clock'> {
  jobs: Pick<FastifyInstance['jobs'], 'enqueue'>
  targets: Pick<Targets, 'find' | 'suspendIn' | 'undoIn' | 'causeIn'>
  /** Null in a shell, which disables nobody: it does not have the content of the owner. */
  administration: Pick<
    FastifyInstance['identity']['administration'],
    'setDisabledIn' | 'undoDisablingIn' | 'isDisabledIn'
  > | null
}

/**
 * Decisions of the staff about reported things. A decision is one transaction: the change, its audit row, the closed
 * reports, and the job that tells everybody. A process that is killed leaves all of it or nothing.
 */
export class Decisions {
  readonly #parts: DecisionParts

  constructor(parts: DecisionParts) {
    this.#parts = parts
  }

  /** Finds a decision and the title of its target. */
  async find(id: string): Promise<(Decision & { title: string | null; undone: boolean }) | null> {
    const row = await this.#parts.db.em().findOne(ReportDecision, { id })
    if (!row) return null
    const target: TargetRef = { kind: row.targetKind, id: row.targetId }
    const title = (await this.#parts.targets.find(target))?.title ?? null
    const { action, changed, reports } = row
    return { id, target, action, changed, reports, title, undone: row.undoneAt != null }
  }

  /**
   * Decides about a target with open reports.
   *
   * - `dismiss` closes the reports about the target.
   * - `suspend` suspends the game or asset, and upholds the reports about it.
   * - `disable` disables the owner with all content, and upholds all reports about the owner's things.
   * - `write` sends the owner a message. The reports stay open.
   *
   * @param message the text for the owner
   * @throws NotFound, NothingOpen, OwnCase, TargetGone, InvalidRequest, LastAdmin; Forbidden when a moderator disables
   *   staff; ChangedSince when the game gets another owner at this moment
   */
  async decide(
    targetId: string,
    { action, message = '' }: { action: DecisionAction; message?: string | undefined },
    by: Actor,
  ): Promise<Decision> {
    const { db, targets } = this.#parts
    const kind = kindOfId(targetId)
    if (!kind) throw new NotFound('reported thing')
    const ref = { kind, id: targetId }
    const target = await targets.find(ref)
    const ownerId = target?.ownerId ?? (await this.#reportedOwner(targetId))
    const words = message.trim().slice(0, MESSAGE_LENGTH)
    if (isOwnCase(by, ownerId, target)) throw new OwnCase()
    if (action !== 'dismiss') mustBePossible(action, target, words)
    const { announce, ...decision } = await db.transaction((em) =>
      this.#decideIn(em, { ref, ownerId, action, target, words, by }),
    )
    await announce()
    return decision
  }

  /**
   * Reverses a decision: its reports are open again, and what it changed is as before. Only the state that the decision
   * made is reversed, and only while no later decision stands that upheld it.
   *
   * @throws NotFound, UndoneAlready, OwnCase; MessageSent for a message that was sent; ChangedSince when somebody
   *   changed the target since
   */
  async undo(decisionId: string, by: Actor): Promise<Decision> {
    const { db, clock, targets } = this.#parts
    const before = await db.em().findOne(ReportDecision, { id: decisionId })
    if (!before) throw new NotFound('decision')
    const ref: TargetRef = { kind: before.targetKind, id: before.targetId }
    if (isOwnCase(by, before.ownerId, await targets.find(ref))) throw new OwnCase()
    if (before.undoneAt) throw new UndoneAlready()
    const { announce, reports } = await db.transaction(async (em) => {
      await this.#hold(em, before.action, { ref, ownerId: before.changed ? (before.ownerId ?? null) : null })
      const isMessage = before.action === 'write'
      const open = { id: decisionId, undoneAt: null, ...(isMessage ? { toldAt: null } : {}) }
      if (!(await markOnce(em, ReportDecision, open, { undoneAt: clock.now() })))
        throw isMessage ? new MessageSent() : new UndoneAlready()
      const reopened = isMessage ? 0 : await reopen(em, decisionId)
      return { reports: reopened, announce: await this.#undoIn(em, before, by) }
    })
    await announce()
    const { action, changed } = before
    return { id: decisionId, target: ref, action, changed, reports }
  }

  get #administration() {
    const { administration } = this.#parts
    if (!administration) throw new InvalidRequest('Disable or enable a player on the page of the queue.')
    return administration
  }

  /** Returns the owner of a deleted target, as its reports have it. */
  async #reportedOwner(targetId: string): Promise<string | null> {
    return (await this.#parts.db.em().findOne(ReportRow, { targetId, ownerId: { $ne: null } }))?.ownerId ?? null
  }

  /**
   * Whether the action changes anything: what is suspended or disabled already keeps its reason. What is suspended only
   * with the owner's account is suspended for itself, so that it stays so when the owner is enabled.
   */
  async #changes(em: SqlEntityManager, action: DecisionAction, target: Target | null): Promise<boolean> {
    if (!target) return false
    if (action === 'suspend') return [null, 'account'].includes(await this.#parts.targets.causeIn(em, target))
    return action === 'disable' && !(await this.#administration.isDisabledIn(em, target.ownerId))
  }

  /**
   * Locks what a decision changes before its reports: an account and its games, or a game or asset. Transactions that give
   * a game another owner lock in this order too, so that none of them waits for another in a circle.
   *
   * @param options.ownerId null when the decision changes neither the target nor the account
   */
  async #hold(
    em: SqlEntityManager,
    action: DecisionAction,
    { ref, ownerId }: { ref: TargetRef; ownerId: string | null },
  ): Promise<void> {
    const { db, targets } = this.#parts
    const gameId = ref.kind === 'game' ? ref.id : undefined
    if (ownerId !== null && action === 'suspend') await targets.causeIn(em, ref)
    else if (ownerId !== null && action === 'disable') {
      await this.#administration.isDisabledIn(em, ownerId)
      await holdGamesOf(em, db, ownerId, gameId)
    } else if (gameId !== undefined) await holdOwners(em, db, [gameId])
  }

  async #decideIn(
    em: SqlEntityManager,
    {
      ref,
      ownerId,
      action,
      target,
      words,
      by,
    }: {
      ref: TargetRef
      ownerId: string | null
      action: DecisionAction
      target: Target | null
      words: string
      by: Actor
    },
  ): Promise<Decision & { announce: Announce }> {
    const { clock, jobs } = this.#parts
    const at = clock.now()
    const id = newId('dec', at)
    const close = (where: { targetId: string } | { ownerId: string }) =>
      em.nativeUpdate(
        ReportRow,
        { ...where, state: 'open' },
        { state: action === 'dismiss' ? 'dismissed' : 'upheld', openKey: null, decisionId: id, decidedAt: at },
      )
    await this.#hold(em, action, { ref, ownerId: target && ownerId })
    if (target && ref.kind === 'game') {
      const owners = await holdOwners(em, this.#parts.db, [ref.id])
      // Somebody else owns the game since it was found, and the decision would be about the former owner.
      if ((owners.get(ref.id) ?? ownerId) !== ownerId) throw new ChangedSince()
    }
    const about = { targetId: ref.id }
    const count = action === 'write' ? await em.count(ReportRow, { ...about, state: 'open' }) : await close(about)
    // Of two people who decide at once, the second finds nothing open, and changes nothing.
    if (count === 0) throw new NothingOpen()
    const changes = await this.#changes(em, action, target)
    const others = action === 'disable' && ownerId !== null ? await close({ ownerId }) : 0
    const reports = action === 'write' ? 0 : count + others
    const decided = {
      id,
      ownerId,
      action,
      changed: changes,
      message: words || null,
      actorId: by.id,
      reports,
      at,
    }
    await em.insert(ReportDecision, {
      ...decided,
      targetKind: ref.kind,
      targetId: ref.id,
      toldAt: null,
      undoneAt: null,
    })
    await jobs.enqueue(em, {
      name: TELL,
      key: id,
      owner: ownerId ?? PLATFORM,
      payload: { decisionId: id },
      runAt: new Date(at.getTime() + UNDO_MS),
    })
    const announce = await this.#actIn(em, { id, ref, ownerId, action, changes, words, by, reports })
    return { id, target: ref, action, changed: changes, reports, announce }
  }

  /** Makes the change, and writes exactly one audit row. */
  async #actIn(
    em: SqlEntityManager,
    {
      id,
      ref,
      ownerId,
      action,
      changes,
      words,
      by,
      reports,
    }: {
      id: string
      ref: TargetRef
      ownerId: string | null
      action: DecisionAction
      changes: boolean
      words: string
      by: Actor
      reports: number
    },
  ): Promise<Announce> {
    const { clock, targets } = this.#parts
    if (changes && action === 'suspend') return targets.suspendIn(em, ref, { reason: words, by, cause: id })
    if (changes && ownerId !== null)
      return this.#administration.setDisabledIn(em, ownerId, true, { by, reason: words, cause: id })
    if (action === 'write' && ownerId !== null) {
      const written = { by, action: 'message.send', target: { kind: 'player', id: ownerId }, reason: words } as const
      await recordAction(em, clock, { ...written, after: { about: ref.id } })
    } else {
      const verb = action === 'dismiss' ? 'report.dismiss' : 'report.uphold'
      await recordAction(em, clock, { by, action: verb, target: ref, reason: words, after: { reports } })
    }
    return silent
  }

  async #undoIn(em: SqlEntityManager, decision: ReportDecision, by: Actor): Promise<Announce> {
    const { clock, targets } = this.#parts
    const { action, changed, ownerId, targetId, reports } = decision
    const ref: TargetRef = { kind: decision.targetKind, id: targetId }
    if (changed && action !== 'write' && action !== 'dismiss') {
      const isUpheld = (await em.count(ReportDecision, laterThan(decision))) > 0
      const undoing = { by, cause: decision.id }
      const announce = isUpheld
        ? null
        : action === 'suspend'
          ? await targets.undoIn(em, ref, undoing)
          : await this.#administration.undoDisablingIn(em, ownerId ?? '', undoing)
      if (!announce) throw new ChangedSince()
      return announce
    }
    if (action === 'write')
      await recordAction(em, clock, { by, action: 'message.withdraw', target: { kind: 'player', id: ownerId ?? '' } })
    else await recordAction(em, clock, { by, action: 'report.reopen', target: ref, before: { reports } })
    return silent
  }
}

/** @throws TargetGone, InvalidRequest */
/** Whether a moderator would decide about something that they own or make. */
const isOwnCase = (by: Actor, ownerId: string | null | undefined, target: Target | null): boolean =>
  by.role === 'moderator' && (ownerId === by.id || target?.makerIds.includes(by.id) === true)

function mustBePossible(action: DecisionAction, target: Target | null, words: string): void {
  if (!target) throw new TargetGone()
  if (action === 'suspend' && target.kind === 'player') throw new InvalidRequest('A player is disabled, not suspended.')
  if (action !== 'disable' && words === '') {
    const details = [{ path: 'message', message: 'is required' }]
    throw new InvalidRequest('Give the reason. The owner reads it.').with({ details })
  }
}

/** Selects later decisions that upheld what this one did, and stand. */
const laterThan = ({ id, action, targetId, ownerId }: ReportDecision) => ({
  id: { $gt: id },
  action,
  undoneAt: null,
  ...(action === 'suspend' ? { targetId } : { ownerId: ownerId ?? null }),
})

const REOPEN = `update reports set state = 'open', decision_id = null, decided_at = null,
    open_key = case when reporter_key = '' then null else reporter_key || '/' || target_id end
  where decision_id = ? and not exists
    (select 1 from reports other where other.open_key = reports.reporter_key || '/' || reports.target_id)`

/** Opens the reports of a decision again, except those whose reporter has sent another one since. */
async function reopen(em: SqlEntityManager, decisionId: string): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(REOPEN, [decisionId], 'run')
  return affectedRows
}
