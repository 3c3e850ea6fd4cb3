import Type, { type Static } from 'typebox'
import { pageOf } from '../../core/http/pagination.ts'

const Count = (fallback: number, description: string) => Type.Integer({ default: fallback, minimum: 1, description })

/** The plugin's values in `limits`. */
export const MultiplayerLimits = {
  roomPlayers: Type.Integer({
    default: 100,
    minimum: 1,
    maximum: 65_535,
    description: 'Players in one room, at most.',
  }),
  roomMessagesPerSecond: Count(60, 'Messages a second from one connection, sustained.'),
  roomMessageBurst: Count(120, 'Messages from one connection at once.'),
  roomFrameBytes: Count(
    64 * 1024,
    'Largest message of a player, in a room without a script. Each 16 KiB begun count as one message of the rate.',
  ),
  roomStateBytes: Count(256 * 1024, 'Shared state of one room, which one message may write.'),
  roomPresenceBytes: Count(2048, 'Presence of one player.'),
  roomUnsentBytes: Count(1024 * 1024, 'Unsent data of one connection; a slower reader is disconnected.'),
  roomResumeSeconds: Count(30, 'How long a lost connection may come back.'),
  roomReplayFrames: Count(256, 'Messages repeated to a client that comes back.'),
  roomSocketsPerPlayer: Count(20, 'Room sockets that one player may have open at once, on one node.'),
  roomGuestSocketsPerAddress: Count(200, 'Room sockets of guests from one address, on one node.'),
  roomScriptBytes: Type.Integer({
    default: 16 * 1024 * 1024,
    minimum: 1024 * 1024,
    maximum: 1024 * 1024 * 1024,
    description: 'Memory of the script of one room.',
  }),
  roomScriptsBytes: Type.Integer({
    default: 0,
    minimum: 0,
    description:
      'Memory of the scripts of all rooms of a node; 0: a quarter of that of the machine or container. Above it no script starts, and rooms with more than two equal parts end.',
  }),
  roomScriptMs: Count(20, 'Processor time of one call of a room’s script, in milliseconds.'),
  roomScriptShare: Type.Number({
    default: 0.2,
    exclusiveMinimum: 0,
    maximum: 1,
    description: 'Part of a processor core that the script of one room may use over time.',
  }),
  roomPingSeconds: Count(25, 'Time between pings; a connection that misses one is dropped.'),
}
export type MultiplayerLimits = { [Name in keyof typeof MultiplayerLimits]: number }

/** `GET /mp` of the specification. */
export const Availability = Type.Object({
  enabled: Type.Boolean(),
  version: Type.Literal(1),
  rooms: Type.String({ description: 'Address of a room socket; put the room id in place of {roomId}.' }),
  client: Type.String(),
  docs: Type.String(),
})

export const RoomSummary = Type.Object({
  id: Type.String(),
  players: Type.Integer(),
  capacity: Type.Integer(),
  locked: Type.Boolean(),
})
export type RoomSummary = Static<typeof RoomSummary>
export const RoomList = pageOf('rooms', RoomSummary)
