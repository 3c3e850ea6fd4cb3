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

/** The bytes that count as one message of the rate. A longer frame counts as several. */
const BYTES_A_MESSAGE = 16 * 1024

/** What a script hears of one frame. Its parsing can't be interrupted. */
const SCRIPTED_FRAME_BYTES = 16 * 1024

/**
 * Returns the number of messages as which a frame counts. Half of the burst is the most, so that a client can send the
 * largest frame under any configuration. The client counts the same (clients/browser/multiplayer/send-queue.ts).
 */
export const costOf = (bytes: number, { messageBurst }: Pick<RoomLimits, 'messageBurst'>): number =>
  bytes <= BYTES_A_MESSAGE ? 1 : Math.min(Math.ceil(bytes / BYTES_A_MESSAGE), Math.max(1, Math.floor(messageBurst / 2)))

/** The largest frames of a client, in bytes: those that write the state, and others. */
export interface FrameLimits {
  frameBytes: number
  stateFrameBytes: number
}

/** Returns the limits for frames of players. A write of the state may fill it, and also names keys. */
export function frameLimits(
  { frameBytes, stateBytes }: Pick<RoomLimits, 'frameBytes' | 'stateBytes'>,
  hasScript = false,
): FrameLimits {
  if (!hasScript) return { frameBytes, stateFrameBytes: frameBytes + stateBytes }
  const most = Math.min(frameBytes, SCRIPTED_FRAME_BYTES)
  return { frameBytes: most, stateFrameBytes: most }
}

/** Close codes of RFC 6455 section 7.4 and its registry, and private ones. */
export const CLOSE = {
  policy: 1008,
  tooLarge: 1009,
  restart: 1012,
  slow: 1013,
  kicked: 4001,
  resumed: 4002,
  failed: 4010,
  suspended: 4011,
  replaced: 4012,
} as const
