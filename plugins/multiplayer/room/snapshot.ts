import type { Account } from './member.ts'

/** The members and rules of a room: everything that must outlive its node beside the shared state. */
export interface Roster {
  host: string
  locked: boolean
  banned: string[]
  /** How many ids were given. */
  ids: number
  /** How often the room has moved to another node. */
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
}

/** A change that a room must store before it tells anybody. */
export type Change = { roster: Roster } | Write

/** A write of the shared state, which made this version. */
interface Write {
  set: Record<string, unknown>
  del: string[]
  version: number
}

/** A room whole. The changes that follow it are applied on top. */
export interface Snapshot {
  roster: Roster
  state: Record<string, unknown>
  version: number
}

/** A snapshot brought up to date, from JSON texts: itself, and the changes since. A change that it holds is left out. */
export function snapshotFrom(texts: string[]): Snapshot {
  const [snapshot, ...changes] = texts.map((text) => JSON.parse(text)) as [Snapshot, ...Partial<Snapshot & Write>[]]
  const values = new Map(Object.entries(snapshot.state))
  let { roster, version } = snapshot
  for (const change of changes) {
    if (change.roster) roster = change.roster
    if (change.version === undefined || change.version <= version) continue
    version = change.version
    for (const key of change.del ?? []) values.delete(key)
    for (const [key, value] of Object.entries(change.set ?? {})) values.set(key, value)
  }
  return { roster, version, state: Object.fromEntries(values) }
}
