import type { Account } from './member.ts'

/** The members and rules of a room: all state besides the shared state that must survive its node. */
export interface Roster {
  host: string
  locked: boolean
  banned: string[]
  /** The number of assigned ids. */
  ids: number
  /** The number of moves to other nodes. */
  moves: number
  members: SavedMember[]
}

export interface SavedMember {
  account: Account
  id: string
  index: number
  joinedAt: string
  resumeToken: string
  data: unknown
  /** The number of frames that the room had taken from the player. Older nodes leave it out. */
  taken?: number
  /** The number of the last frame that was sent to the player, if nothing was said after it. */
  sequence?: number
}

/** A change that a room must store before it notifies anybody. */
export type Change = { roster: Roster } | { script: SavedScript } | Write

/** A room's script, for the node that continues the room. */
export interface SavedScript {
  deployId: string
  /** The script's last snapshot; absent before the first. */
  data?: unknown
}

/** A write of the shared state, with the resulting version. */
interface Write {
  set: Record<string, unknown>
  del: string[]
  version: number
}

/** A whole room, to which the following changes are applied. */
export interface Snapshot {
  roster: Roster
  state: Record<string, unknown>
  version: number
  script?: SavedScript
}

/**
 * Restores the current snapshot from JSON texts: a snapshot and later changes. Changes that it contains are skipped.
 */
export function snapshotFrom(texts: string[]): Snapshot {
  const [snapshot, ...changes] = texts.map((text) => JSON.parse(text)) as [Snapshot, ...Partial<Snapshot & Write>[]]
  const values = new Map(Object.entries(snapshot.state))
  let { roster, version, script } = snapshot
  for (const change of changes) {
    if (change.roster) roster = change.roster
    if (change.script) script = change.script
    if (change.version === undefined || change.version <= version) continue
    version = change.version
    for (const key of change.del ?? []) values.delete(key)
    for (const [key, value] of Object.entries(change.set ?? {})) values.set(key, value)
  }
  return { roster, version, state: Object.fromEntries(values), ...(script ? { script } : {}) }
}
