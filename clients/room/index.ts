/**
 * The types of a room script: one JavaScript file of a game that runs on the platform, for each room. They are for
 * editors and type checkers only; a script imports nothing at run time.
 *
 *   /** @import { Message, Settings } from '@gameyard/room' *\/
 *
 *   /** @type {Settings} *\/
 *   export const settings = { tick: 20 }
 *
 *   /** @type {Message} *\/
 *   export function message(room, player, type, data) {
 *     room.log(player.name, type, data)
 *   }
 */

/** A value that survives JSON. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json | undefined }

/** A player in the room. */
export interface Player {
  /** A short id that is valid in this room only. */
  readonly id: string
  readonly index: number
  /** The account's stable id. One account may be present twice. */
  readonly sub: string
  readonly name: string
  readonly imageUrl: string | null
  /** The player's last `presence` data, which the player's browser decides. */
  readonly data: unknown
  /** ISO 8601. */
  readonly joinedAt: string
}

/**
 * The recipients of a message: everyone (the default), or players, themselves or by id. Players who have left are skipped;
 * an id that nobody ever had is an exception.
 */
export type Recipients = 'all' | Player | string | readonly (Player | string)[]

/** The state that all players of the room see. Values are JSON. */
export interface State {
  /** Returns a copy; undefined when the key is not there. */
  // biome-ignore lint/suspicious/noExplicitAny: the value is what the script has stored
  get(key: string): any
  set(key: string, value: unknown): void
  /** Sets several keys in one write. */
  assign(values: Record<string, unknown>): void
  delete(...keys: string[]): void
}

/**
 * Saves of the players, the same that a game reads and writes at `/__service/saves`. A player can change them in the
 * browser: trust nothing in them. Promises reject with a `code`; nothing is thrown.
 */
export interface Saves {
  /** Resolves to the value; without one to null or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: the value is what the game has stored
  get(player: Player | string, key: string): Promise<any>
  set(player: Player | string, key: string, value: unknown): Promise<unknown>
}

/** A room. Everything that a script can do is here; it has no network, no files and no other clock. */
export interface Room {
  readonly id: string
  /** The players who are in the room, in the order in which they came. One whose `join` waits is not there yet. */
  readonly players: readonly Player[]
  readonly state: State
  /** Sends a message. `from` is null in the browser. */
  send(type: string, data?: unknown, to?: Recipients): void
  /** Sends raw bytes. */
  sendBinary(bytes: Uint8Array | ArrayBuffer, to?: Recipients): void
  kick(player: Player | string, reason?: string): void
  /** Lets nobody else in. */
  lock(): void
  unlock(): void
  /** Makes a player the room's host. */
  host(player: Player | string): void
  /** Milliseconds since 1970, the same during one call. */
  now(): number
  /** From 0 to 1, as `Math.random`, seeded for the room. */
  random(): number
  /** Calls a function once. @returns a function that cancels it */
  after(ms: number, fn: () => void): () => void
  /** Calls a function again and again, at most 100 times a second. @returns a function that ends it */
  every(ms: number, fn: () => void): () => void
  /** Writes a line to the game's log: `gameyard logs`, and the dashboard's tab Rooms. At most 20 lines in a call. */
  log(...values: unknown[]): void
  /**
   * Submits a score of a player to a board, also to one that accepts scores of servers only. The promise rejects with a
   * `code`; nothing is thrown.
   */
  score(board: string, player: Player | string, value: number, detail?: unknown): Promise<unknown>
  readonly saves: Saves
}

/** `export const settings` */
export interface Settings {
  /** Calls of `tick` a second, from 0 to 60. Default: 0 */
  tick?: number
  /** Players at most, if fewer than the game's settings allow. */
  players?: number
  /** Whether browsers may write the shared state. Default: false */
  clientState?: boolean
  /** Whether messages of browsers also reach the others directly, as in a room without a script. Default: false */
  relay?: boolean
  /** Whether `GET /mp/rooms` lists the rooms of this script. Default: true */
  listed?: boolean
}

/** `export function open(room)`: called once, before anyone is in the room. An exception ends the room. */
export type Open = (room: Room) => void | Promise<void>
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement is a valid `join`
type Verdict = undefined | boolean | string | void
/**
 * `export function join(room, player)`: a returned text, or `false`, refuses the player. An asynchronous `join` decides
 * within ten seconds, or the player is refused. Until then the player is not in `room.players`.
 */
export type Join = (room: Room, player: Player) => Verdict | Promise<Verdict>
/** `export function message(room, player, type, data)`: a browser has sent a message. Trust nothing in `data`. */
// biome-ignore lint/suspicious/noExplicitAny: the data is whatever a browser sends, and scripts read its fields
export type Message = (room: Room, player: Player, type: string, data: any) => void | Promise<void>
/** `export function binary(room, player, bytes)`: a browser has sent raw bytes. */
export type Binary = (room: Room, player: Player, bytes: Uint8Array) => void | Promise<void>
/** `export function tick(room, seconds)`: called `settings.tick` times a second, with the time since the last call. */
export type Tick = (room: Room, seconds: number) => void
/**
 * `export function leave(room, player, reason)`: `left`, `timeout`, `kicked` or `closed`. Scores and saves of the player
 * are still possible, for ten seconds.
 */
export type Leave = (room: Room, player: Player, reason: string) => void | Promise<void>
/** `export function snapshot(room)`: returns JSON from which `restore` continues the room on another machine. */
export type Snapshot = (room: Room) => unknown
/** `export function restore(room, data)`: called in place of `open`, with the data of `snapshot`. */
// biome-ignore lint/suspicious/noExplicitAny: the data is what the script's own `snapshot` returned
export type Restore = (room: Room, data: any) => void | Promise<void>
/** `export function close(room)`: the last player has gone. */
export type Close = (room: Room) => void | Promise<void>

/** The exports of a room script; at least one of them. */
export interface RoomScript {
  settings?: Settings
  open?: Open
  join?: Join
  message?: Message
  binary?: Binary
  tick?: Tick
  leave?: Leave
  snapshot?: Snapshot
  restore?: Restore
  close?: Close
}
