import type { Verdict } from '../admission/join.ts'
import type { RoomInfo } from '../hosting/rooms.ts'
import type { DisconnectReason } from '../membership.ts'
import type { Account } from '../room/member.ts'

/** The room, and the player who wants to join or resume. */
export interface JoinMessage {
  gameId: string
  roomId: string
  account: Account
  resume: { token: string; received: number | null } | null
  /** Older nodes leave it out. */
  acks?: boolean | undefined
  /** Older nodes leave it out, and keep a place, during a rolling update. */
  inquiry?: boolean | undefined
}

/** The answer of the room's owner. */
export type JoinAnswer = Verdict | 'elsewhere'

/** Messages between nodes. `conn` is a socket's name, which the node with the socket assigns. */
export type NodeMessage =
  // Messages from the node with the socket to the node with the room.
  | ({ t: 'enter'; conn: string; reservation?: string | undefined } & JoinMessage)
  | { t: 'text'; conn: string; text: string }
  | { t: 'bytes'; conn: string; bytes: string }
  | { t: 'ping'; conn: string }
  | { t: 'end'; conn: string; ending: DisconnectReason }
  // Messages in the other direction.
  | { t: 'write'; to: string[]; frames: string }
  | { t: 'close'; conn: string; code: number; reason: string }
  // A piece of the JSON text of a message that is too long for one message of the bus. Older nodes ignore it.
  | { t: 'part'; text: string; isLast: boolean }
  // Questions in both directions.
  | ({ t: 'mayEnter'; ask: number } & JoinMessage)
  | { t: 'list'; ask: number; gameId: string; previews?: boolean }
  | { t: 'verdict'; ask: number; verdict: JoinAnswer }
  | { t: 'rooms'; ask: number; rooms: RoomInfo[] }

/** A batch of messages from one node. `n` is its sequence number, which reveals a loss to the receiver. */
export interface Envelope {
  from: string
  n: number
  messages: NodeMessage[]
}
