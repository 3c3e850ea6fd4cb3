import { type Frame, type RoomPlayer, textFrame } from './frames.ts'

/** The first message to a player (contracts, section 8). */
interface Welcome {
  you: string
  room: { id: string; host: string; capacity: number; locked: boolean; script?: boolean }
  players: RoomPlayer[]
  version: number
  resume: string
  now: number
  /** The number of the last frame before it. */
  sequence: number
  /** The number of missed frames that follow; null when the client must begin anew. */
  replay: number | null
  /** The shared state, which is kept as JSON text. */
  stateJson: string
}

export function welcomeFrame({ stateJson, ...fields }: Welcome): Frame {
  const head = JSON.stringify({ t: 'welcome', v: 1, ...fields })
  return textFrame(`${head.slice(0, -1)},"state":${stateJson}}`)
}
