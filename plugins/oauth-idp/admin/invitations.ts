import type { Clock } from '../../../core/clock.ts'
import { PROGRAM, recordAction } from '../../../core/data/audit.ts'
import type { Database } from '../../../core/data/database.ts'
import { invalidField, NotFound } from '../../../core/errors.ts'
import type { OneTimeTokens } from '../players/one-time-tokens.ts'

export interface NewInvitation {
  note: string
  /** What one may type instead of the link: `BCDF-GHJK-LMNP`. */
  code: string
  link: string
  expiresAt: Date
}

export interface Invitation {
  id: string
  note: string
  createdAt: Date
  expiresAt: Date
}

const LIFE_MS = 14 * 86_400_000
const MOST_AT_ONCE = 100
const SERVER = { kind: 'server', id: '' } as const

/** Invitations by administrators, each of which makes one account. */
export class Invitations {
  readonly #parts: { db: Database; clock: Clock; tokens: OneTimeTokens; portalUrl: string }

  constructor(parts: { db: Database; clock: Clock; tokens: OneTimeTokens; portalUrl: string }) {
    this.#parts = parts
  }

  /**
   * Makes an invitation for each note.
   *
   * @returns codes and links, which are shown once
   * @throws InvalidRequest for too many
   */
  async make(notes: readonly string[], by = PROGRAM): Promise<NewInvitation[]> {
    if (notes.length > MOST_AT_ONCE) throw invalidField('note', `Make at most ${MOST_AT_ONCE} links at a time.`)
    const { db, clock, tokens, portalUrl } = this.#parts
    const expiresAt = new Date(clock.now().getTime() + LIFE_MS)
    return db.transaction(async (em) => {
      const made: NewInvitation[] = []
      for (const text of notes) {
        const note = text.trim().slice(0, 100)
        await recordAction(em, clock, { by, action: 'invitation.make', target: SERVER, after: { note } })
        const code = await tokens.issue(em, 'invite', { data: { note }, lifeMs: LIFE_MS })
        made.push({ note, code, link: `${portalUrl}/invite/${code}`, expiresAt })
      }
      return made
    })
  }

  /** Lists those that wait, the newest first. */
  async list(): Promise<Invitation[]> {
    const rows = await this.#parts.tokens.list('invite')
    return rows.map(({ id, data, createdAt, expiresAt }) => ({
      id,
      note: String(data?.note ?? ''),
      createdAt,
      expiresAt,
    }))
  }

  /** @throws NotFound */
  async withdraw(id: string, by = PROGRAM): Promise<void> {
    const { db, clock, tokens } = this.#parts
    await db.transaction(async (em) => {
      if (!(await tokens.revoke('invite', id, em))) throw new NotFound('invitation')
      await recordAction(em, clock, { by, action: 'invitation.withdraw', target: { kind: 'invitation', id } })
    })
  }
}
