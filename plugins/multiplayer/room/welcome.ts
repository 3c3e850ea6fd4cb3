import { type Frame, type RoomPlayer, textFrame } from './frames.ts'
import { frameLimits, type RoomLimits } from './limits.ts'

/** The room that a player enters. */
interface Entered {
  id: string
  host: string
  capacity: number
  locked: boolean
  /** The room's script, if it runs one. */
  script: object | null
  members: { byId: ReadonlyMap<string, { player: RoomPlayer; link: object | null }> }
  /** The shared state, which is kept as JSON text. */
  stateJson: string
}

interface Moment {
  /** The version of the shared state. */
  version: number
  /** The number of the last frame before it. */
  sequence: number
  /** The number of missed frames that follow; null when the client must start over. */
  replay: number | null
  now: number
  /** The number of this player's frames that the room has taken. */
  taken: number
}

/** Builds the first message to a player. */
export function welcomeFrame(
  { id, host, capacity, locked, script, members, stateJson }: Entered,
  { id: you, resumeToken: resume }: { id: string; resumeToken: string },
  moment: Moment,
  roomLimits: RoomLimits,
): Frame {
  const room = { id, host, capacity, locked, ...(script ? { script: true } : {}) }
  const players = Array.from(members.byId.values(), ({ player, link }) => ({ ...player, away: link === null }))
  // What the room takes from one connection.
  const { messagesPerSecond, messageBurst, stateBytes } = roomLimits
  const { frameBytes, stateFrameBytes } = frameLimits(roomLimits, script !== null)
  const limits = { messagesPerSecond, messageBurst, frameBytes, stateBytes, stateFrameBytes }
  const head = JSON.stringify({ t: 'welcome', v: 1, you, room, players, resume, ...moment, limits })
  return textFrame(`${head.slice(0, -1)},"state":${stateJson}}`)
}
