/** The limits of a room. */
export interface RoomLimits {
  /** The maximum number of players, including those away. */
  players: number
  messagesPerSecond: number
  messageBurst: number
  frameBytes: number
  stateBytes: number
  presenceBytes: number
  resumeSeconds: number
  /** How long the host may be away. */
  hostPatienceSeconds: number
  /** The maximum number of frames that are replayed to a resuming client. */
  replayFrames: number
  replayBytes: number
}

/** Close codes of RFC 6455 section 7.4 and its registry, and private ones. */
export const CLOSE = {
  policy: 1008,
  restart: 1012,
  slow: 1013,
  kicked: 4001,
  resumed: 4002,
  failed: 4010,
  suspended: 4011,
  replaced: 4012,
} as const
