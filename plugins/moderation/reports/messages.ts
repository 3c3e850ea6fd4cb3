import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { inPages } from '../../../core/http/pagination.ts'
import { newId } from '../../../core/ids.ts'
import { StaffMessage } from '../entities.ts'

/** The number of messages on a player's page. */
const LISTED = 200

/** Messages to players: a page of the settings shows them, and mail repeats them. */
export class StaffMessages {
  readonly #app: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'site'>

  constructor(app: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'site'>) {
    this.#app = app
  }

  /** Stores a message and enqueues its mail, in the caller's transaction. @param subject one line */
  async sendIn(
    em: SqlEntityManager,
    playerId: string,
    { subject, text }: { subject: string; text: string },
  ): Promise<void> {
    const { clock, identity, site } = this.#app
    const at = clock.now()
    const line = subject.replace(/\s+/g, ' ').slice(0, 200)
    await em.insert(StaffMessage, { id: newId('msg', at), playerId, subject: line, text, at })
    await identity.unread.noteIn(em, playerId)
    const note = `${text}\n\nThis message is also at ${site.portalUrl}/settings/messages\n`
    await identity.writeTo(em, playerId, `${line} · ${site.name}`, note)
  }

  /** Returns the messages of a player, newest first. */
  async of(playerId: string): Promise<{ subject: string; text: string; at: string }[]> {
    const em = this.#app.db.em()
    const rows = await em.find(StaffMessage, { playerId }, { orderBy: { id: 'desc' }, limit: LISTED })
    return rows.map(toMessage)
  }

  /** Exports the messages of a player in pages, newest first. */
  async *export(playerId: string): AsyncGenerator<unknown[]> {
    const pages = inPages<StaffMessage>((after, limit) => {
      const where = { playerId, ...(after && { id: { $lt: after.id } }) }
      return this.#app.db.em().find(StaffMessage, where, { orderBy: { id: 'desc' }, limit })
    })
    for await (const rows of pages) yield rows.map(toMessage)
  }

  /** Removes the messages of a deleted account. */
  async forget(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(StaffMessage, { playerId })
  }
}

const toMessage = ({ subject, text, at }: StaffMessage) => ({ subject, text, at: at.toISOString() })
