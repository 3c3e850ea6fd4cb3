import type { SqlEntityManager } from '@mikro-orm/sql'
import { type ErrorDetail, InvalidRequest } from '../../../core/errors.ts'

/** Something of a player that others use as well, such as a game with several makers. */
export interface SharedItem {
  id: string
  title: string
  /** Who can take it over. */
  successors: readonly { id: string; name: string; imageUrl: string }[]
}

/** What becomes of each shared item, by its id: the id of the player who takes it over, or `DELETED`. */
export type Decisions = ReadonlyMap<string, string>

/** Decides that a shared item is deleted with the account. */
export const DELETED = 'delete'

/**
 * Hands over what is decided so, in the transaction that ends the account. Everything else is deleted by the cleanups.
 *
 * @returns a function that notifies every node; it is called after the transaction
 * @throws InvalidRequest from `undecided` or `notTaken`; then nothing is changed
 */
export type Settlement = (em: SqlEntityManager) => Promise<() => Promise<unknown>>

/** The shared content of a plugin. A player whose account ends decides about each. */
export interface SharedContent {
  of(playerId: string): Promise<SharedItem[]>
  /**
   * Reads what takes long to read before the transaction that ends the account: on SQLite nobody else writes during it.
   *
   * @param decisions null when nobody can decide: then all is deleted
   */
  prepare(playerId: string, decisions: Decisions | null): Promise<Settlement>
}

/** The name of the form's field about a shared item. */
export const fieldOf = (id: string): string => `shared-${id}`

/** Reads the decisions of a form. */
export const decisionsOf = (fields: Record<string, unknown>): Decisions =>
  new Map(
    Object.entries(fields)
      .filter(([name, value]) => name.startsWith(fieldOf('')) && typeof value === 'string' && value !== '')
      .map(([name, value]) => [name.slice(fieldOf('').length), String(value)]),
  )

/** The error for shared items about which nothing is decided. */
export function undecided(items: readonly Pick<SharedItem, 'id' | 'title'>[]): Error {
  const message = `Nothing was deleted: say what becomes of ${titlesOf(items)}.`
  return new InvalidRequest(message).with({
    details: items.map(({ id }) => detail(id, 'Hand it over, or delete it.')),
  })
}

/** The error for a player who does not take over an item. @param reason a sentence */
export const notTaken = ({ id }: Pick<SharedItem, 'id'>, reason: string): Error =>
  new InvalidRequest(`Nothing was deleted. ${reason}`).with({ details: [detail(id, reason)] })

const detail = (id: string, message: string): ErrorDetail => ({ path: fieldOf(id), message })

function titlesOf(items: readonly Pick<SharedItem, 'title'>[]): string {
  const titles = items.map(({ title }) => title)
  const last = titles.pop() ?? ''
  return titles.length === 0 ? last : `${titles.join(', ')} and ${last}`
}
