/** Messages between the main thread and a thread that runs room scripts. A room is named by a number. */

/** The limits of a room's script. */
export interface ScriptLimits {
  /** Memory of the room's whole runtime. */
  memoryBytes: number
  /** Processor time of one call. */
  callMs: number
  /** Part of a core over time, from 0 to 1. */
  share: number
  /** Shared state, and a snapshot. */
  stateBytes: number
  /** One message. */
  frameBytes: number
}

export interface OpenRoom {
  t: 'open'
  room: number
  roomId: string
  source: string
  path: string
  seed: number[]
  /** The players who may be in the room at once. */
  players: number
  limits: ScriptLimits
  /** The first event as JSON, which opens or restores the room. */
  event: string
}

export type ToThread =
  | OpenRoom
  /**
   * Events of several rooms, or several times of the same room: for each, JSON values separated by commas, the bytes of its binary events, and whether all
   * of them may wait for the room's next tick.
   */
  | { t: 'run'; rooms: number[]; events: string[]; bytes: (Uint8Array | null)[]; mayWait: boolean[] }
  | { t: 'end'; room: number }
  | { t: 'usage' }

/**
 * Events that a room gets at once, in characters and bytes. Parsing them is the platform's work, which can't be
 * interrupted: a player who sends much must not use the time of the script.
 */
export const MOST_AT_ONCE = 32 * 1024

/** Why a room ended. */
export type FailureReason = 'open' | 'time' | 'memory' | 'share' | 'crash'

export interface Failure {
  reason: FailureReason
  /** One sentence for the maker of the game. */
  text: string
  stack?: string
}

/** What a room uses: its part of the allowed share, and its memory. */
export interface Usage {
  room: number
  cpuShare: number
  memoryBytes: number
}

export type FromThread =
  | { t: 'ready' }
  /** Operations of several rooms (`operations.ts`), and whether this answers a `run`: each gets one answer. */
  | { t: 'out'; rooms: number[]; texts: string[]; hasRun: boolean }
  | { t: 'failed'; room: number; failure: Failure }
  | { t: 'usage'; rooms: Usage[] }

/** Positions in the memory that a thread shares with the main thread, which watches it. */
export const WATCH = {
  /** The room whose script runs now; 0 when none does. */
  room: 0,
  /** Increases with each call of a script. */
  call: 1,
  /** What this call may take beyond others before the thread is ended, in ms: opening parses the whole script. */
  opening: 2,
  /** The memory of all rooms of the thread, in KiB. */
  memory: 3,
  /** An equal part of the memory for all rooms, in KiB, when they need more together; otherwise 0. */
  mostMemory: 4,
} as const
