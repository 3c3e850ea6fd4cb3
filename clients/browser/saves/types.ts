/** What a save may be: anything that JSON can express, or bytes. */
export type SaveValue = unknown

/** `saved`: all is on the server. `saving`: it is being sent. `offline`: it is on this device only, and sent later. */
export type SaveStatus = 'saved' | 'saving' | 'offline'

/** Two devices have changed the same save. */
export interface Conflict {
  readonly key: string
  /** The value of this device; undefined when it was deleted here. */
  readonly mine: SaveValue
  /** The value on the server. */
  readonly theirs: SaveValue
  /** When each was saved, in ms since 1970 by the server's clock. */
  readonly mineAt: number
  readonly theirsAt: number
}

export interface SavesEvents {
  /**
   * Decides a conflict: the returned value is saved. The others stay on the server as earlier versions. Without a
   * listener the newer value wins.
   */
  conflict: (conflict: Conflict) => SaveValue | Promise<SaveValue>
  status: (status: SaveStatus) => void
  /** A save has another value than this page set or read last, because of a conflict, a sign-in, or another tab. */
  change: (change: { key: string; value: SaveValue }) => void
  /**
   * A save stays on this device: the server refuses it, because it is too large or there is no room left, or nothing has
   * reached the server for ten seconds (`code` and `message` say why; `offline` without a connection). With an empty `key`: the browser has closed the
   * storage of this page (`storage_closed`), so saves go to the server only.
   */
  error: (error: { key: string; code: string; message: string }) => void
  /** Another tab of this browser has the game open, or none has any more. */
  elsewhere: (elsewhere: { open: boolean }) => void
}

export interface SetOptions {
  /**
   * Saves over this version only, as `version` returned it; null: only if there is none. Another version on the server
   * is a conflict. Default: the version that this device knows.
   */
  if?: number | null
}

/** A failed operation. */
export class SaveError extends Error {
  override name = 'SaveError'
  /** A code of the platform's errors, `offline`, or `storage_full`. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Whether the player has signed out, or another one has signed in. */
export const isOtherPlayer = (error: unknown): boolean =>
  error instanceof SaveError && /^(unauthorized|other_player)$/.test(error.code)
