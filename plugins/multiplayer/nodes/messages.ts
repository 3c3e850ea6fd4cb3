import type { RoomInfo } from '../hosting/rooms.ts'
import type { DisconnectReason } from '../membership.ts'
import type { Account } from '../room/member.ts'
import type { Refusal } from '../room/room.ts'

/** Which room, and who wants to join or resume. */
export interface JoinMessage {
  gameId: string
  roomId: string
  account: Account
  resume: { token: string; received: number | null } | null
}

/** Whether a player may join, as the room's owner answers; null: yes. */
export type JoinAnswer = Refusal | 'elsewhere' | null

/** Messages between nodes. `conn` is a socket's name, given by the node that has the socket. */
export type NodeMessage =
  // From the node that has the socket to the one that has the room.
  | ({ t: 'enter'; conn: string } & JoinMessage)
  | { t: 'text'; conn: string; text: string }
  | { t: 'bytes'; conn: string; bytes: string }
  | { t: 'ping'; conn: string }
  | { t: 'end'; conn: string; ending: DisconnectReason }
  // And back.
  | { t: 'write'; to: string[]; frames: string }
  | { t: 'close'; conn: string; code: number; reason: string }
  // Questions, either way.
  | ({ t: 'mayEnter'; ask: number } & JoinMessage)
  | { t: 'list'; ask: number; gameId: string }
  | { t: 'verdict'; ask: number; verdict: JoinAnswer }
  | { t: 'rooms'; ask: number; rooms: RoomInfo[] }

/** A batch of messages from one node. `n` is its sequence number, so that the receiver notices a loss. */
export interface Envelope {
  from: string
  n: number
  messages: NodeMessage[]
}
