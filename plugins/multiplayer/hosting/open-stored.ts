import { snapshotFrom } from '../room/snapshot.ts'
import type { RoomScript, ScriptSource } from '../scripts/interface.ts'
import type { HostedRoom, RoomStore } from './hosted-room.ts'
import type { Rooms } from './rooms.ts'

/** A room to be opened, or continued, on this node. */
export interface WantedRoom {
  /** With the name of a preview after a slash (`scopeOf`). */
  scope: string
  roomId: string
  maxPlayers: number
  hostPatienceSeconds: number
  /** Loads the script of the room. @param source null: of the deploy that is served now */
  script(source: ScriptSource | null): Promise<RoomScript | null>
}

/**
 * Continues a room from what is stored of it, or opens a new one.
 *
 * @param texts a snapshot and the changes after it; null when nothing is stored
 */
export async function openStored(
  rooms: Rooms,
  { scope, roomId, maxPlayers, hostPatienceSeconds, script }: WantedRoom,
  store: RoomStore | null,
  texts: string[] | null,
): Promise<HostedRoom> {
  const deployId = texts && snapshotFrom(texts).script?.deployId
  const before = deployId ? await script({ from: 'deploy', deployId }) : null
  // A room keeps its script, or none. When the deploy is gone, the room starts over.
  const known = before || !deployId ? texts : null
  const options = { maxPlayers, hostPatienceSeconds, store, script: known ? before : await script(null) }
  return known ? rooms.restore(scope, roomId, options, known) : rooms.open(scope, roomId, options)
}
