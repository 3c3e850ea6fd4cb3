import { AsyncLocalStorage } from 'node:async_hooks'

/** The author of a change, as lists of changes show it. */
export interface Author {
  /** `assistant`: a coding assistant that the player has connected. `platform`: the program by itself. */
  kind: 'person' | 'token' | 'assistant' | 'staff' | 'platform'
  /** The player who made the change, or whose program did; null for staff and the platform. */
  playerId: string | null
  /** The name of the token or the assistant at that time. */
  name: string | null
  /** The tool of the Model Context Protocol that was called. */
  tool: string | null
}

const PLATFORM: Author = { kind: 'platform', playerId: null, name: null, tool: null }

/** The author for changes of another player's things by administrators, moderators and the command line. */
export const STAFF: Author = { kind: 'staff', playerId: null, name: null, tool: null }

/**
 * The author of the current request. It is carried beside the calls, as a trace is, because every service between a
 * route and a table would otherwise pass it on without reading it. No decision depends on it: rights are checked with
 * the `Principal`.
 */
const current = new AsyncLocalStorage<Author>()

/** Runs work whose changes have this author. */
export const runAs = <Result>(author: Author, work: () => Result): Result => current.run(author, work)

/**
 * Returns the author of the current request; the platform outside of one. Read it before a call of
 * `Database.groupCommit`, which may run its work among that of another request.
 */
export const currentAuthor = (): Author => current.getStore() ?? PLATFORM
