import type { Account } from '../room/member.ts'
import type { Refusal } from '../room/room.ts'
import type { RoomInfo } from '../rooms.ts'
import type { Ending } from '../seat.ts'

/** Which room, and who wants to come in or back. */
export interface Entrance {
  gameId: string
  roomId: string
  account: Account
  resume: { token: string; received: number | null } | null
}

/** How the owner of a room answers whether somebody may come in; null: yes. */
export type Verdict = Refusal | 'elsewhere' | null

/** What nodes say to each other. `conn` is a socket's name, given by the node that has the socket. */
export type NodeMessage =
  // From the node that has the socket to the one that has the room.
  | ({ t: 'enter'; conn: string } & Entrance)
  | { t: 'text'; conn: string; text: string }
  | { t: 'bytes'; conn: string; bytes: string }
  | { t: 'ping'; conn: string }
  | { t: 'end'; conn: string; ending: Ending }
  // And back.
  | { t: 'write'; to: string[]; frames: string }
  | { t: 'close'; conn: string; code: number; reason: string }
  // Questions, either way.
  | ({ t: 'mayEnter'; ask: number } & Entrance)
  | { t: 'list'; ask: number; gameId: string }
  | { t: 'verdict'; ask: number; verdict: Verdict }
  | { t: 'rooms'; ask: number; rooms: RoomInfo[] }

/** What one node says in one go. `n` counts what it has said to this listener, so that a loss is seen. */
export interface Parcel {
  from: string
  n: number
  messages: NodeMessage[]
}
