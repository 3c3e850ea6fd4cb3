import { createHash } from 'node:crypto'
import type { UpsertOptions } from '@mikro-orm/core'
import type { Clock } from '../../../core/clock.ts'
import { consumeOnce } from '../../../core/data/consume-once.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import { FrameTicket } from '../entities.ts'

const TICKET_SECONDS = 60
const TICKET = /^[A-Za-z0-9_-]{43}$/

/** The player and session of a ticket, and the only place where it is valid. */
export type TicketBinding = Pick<FrameTicket, 'purpose' | 'playerId' | 'sessionId' | 'consentId' | 'gameId' | 'host'>

/** The place where a ticket is presented. */
export type TicketPlace = Pick<FrameTicket, 'purpose' | 'gameId' | 'host'>

/** Tickets into framed games: 256 bits, stored as a hash, valid once, for a minute, at one host. */
export class Tickets {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Issues a ticket.
   *
   * @param ticket chosen by a page that already holds it, of 43 characters (`isTicket`); by default a new one
   * @returns the ticket, which is not stored
   */
  async issue(binding: TicketBinding, ticket: string = randomText(32)): Promise<string> {
    const expiresAt = new Date(this.#clock.now().getTime() + TICKET_SECONDS * 1000)
    // An existing ticket stays unchanged, so that nobody can reassign it to another player.
    const row = { ...binding, ticketHash: hashOf(ticket), expiresAt }
    const unchanged: UpsertOptions<FrameTicket> = { onConflictFields: ['ticketHash'], onConflictAction: 'ignore' }
    await this.#db.transaction((em) => em.upsert(FrameTicket, row, unchanged))
    return ticket
  }

  /** Consumes a ticket. At the wrong place it counts as unknown and stays valid. @returns null for an invalid ticket */
  async redeem(ticket: string, { purpose, gameId, host }: TicketPlace): Promise<TicketBinding | null> {
    if (!isTicket(ticket)) return null
    const em = this.#db.em()
    const where = { ticketHash: hashOf(ticket), purpose, gameId, host, expiresAt: { $gt: this.#clock.now() } }
    const found = await em.findOne(FrameTicket, where)
    return found && (await consumeOnce(em, FrameTicket, where)) ? found : null
  }

  /** Deletes expired tickets. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const parameters = [this.#clock.now()]
    const over = { table: 'frame_tickets', key: ['ticket_hash'], where: 'expires_at <= ?', parameters }
    await deleteInBatches(this.#db, over, signal)
  }
}

/** Whether a text has the form of a ticket. */
export const isTicket = (text: string): boolean => TICKET.test(text)

const hashOf = (ticket: string): string => createHash('sha256').update(ticket).digest('base64url')
