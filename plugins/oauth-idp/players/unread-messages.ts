import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import { newId } from '../../../core/ids.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { UnreadMessage } from './entities.ts'

/**
 * What players have not seen yet on the page of their messages. Every page shows the number (`Viewer.unread`), since a
 * platform may send no mail.
 */
export class UnreadMessages {
  readonly #parts: { db: Database; clock: Clock; sessions: Pick<Sessions, 'forget'> }

  constructor(parts: { db: Database; clock: Clock; sessions: Pick<Sessions, 'forget'> }) {
    this.#parts = parts
  }

  /** Notes something new for a player, in the caller's transaction. Pages show it within seconds. */
  async noteIn(em: SqlEntityManager, playerId: string): Promise<void> {
    const at = this.#parts.clock.now()
    await em.insert(UnreadMessage, { id: newId('nws', at), playerId, at })
  }

  /** Notes that a player has seen all. Other nodes show it within seconds. */
  async see(playerId: string): Promise<void> {
    await this.#parts.db.execute('delete from player_news where player_id = ?', [playerId])
    this.#parts.sessions.forget(playerId)
  }

  /** Removes what nobody has seen by then, which is no longer on the page either. */
  async sweep(before: Date, signal: AbortSignal): Promise<void> {
    const old = { table: 'player_news', key: ['id'], where: '"at" < ?', parameters: [before] }
    await deleteInBatches(this.#parts.db, old, signal)
  }
}
