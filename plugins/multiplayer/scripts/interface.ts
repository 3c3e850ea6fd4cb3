/** A room script: one ES module of a deploy, which runs on the server for each room. */
export interface RoomScript {
  /** SHA-256 of the source. */
  digest: string
  deployId: string
  /** The module's text. It has no imports. */
  source: string
  /** Its path in the deploy, for stack traces. */
  path: string
}

/**
 * Which deploy a room runs: the live one, that of a preview by its name, or a certain deploy, with which the room began
 * on another node.
 */
export type ScriptSource =
  | { from: 'live' }
  | { from: 'preview'; preview: string }
  | { from: 'deploy'; deployId: string }

/**
 * Returns the script of a deploy of a game; null when it has none, or the deploy is gone. It is called at each
 * admission to a room that is not open yet, so it answers from memory as a rule.
 */
export type LoadRoomScript = (gameId: string, source: ScriptSource) => Promise<RoomScript | null>

/** A line of `room.log`, an exception, or what ended the room (`fatal`). */
export interface ScriptLogLine {
  /** In ms since 1970. */
  at: number
  level: 'log' | 'error' | 'fatal'
  roomId: string
  deployId: string
  text: string
  /** The place in the source of an exception, counted from 1. */
  line?: number
  column?: number
  stack?: string
}

/** Receives what scripts log. */
export interface ScriptLogs {
  /** Keeps lines of one game. It never throws and never waits. */
  append(gameId: string, lines: ScriptLogLine[]): void
}

/** What a room's script uses, for the owner of the game. */
export interface ScriptStatus {
  deployId: string
  digest: string
  /** The recently used part of the processor time that the room may use, from 0 to 1. */
  cpuShare: number
  memoryBytes: number
  /** The last exception; null when there was none. */
  lastError: { text: string; line: number | null; column: number | null; at: number } | null
}
