import type { PortAddress } from '../../core/origins/ports.ts'

/** The variable by which the supervisor tells a process its place, as JSON. */
export const PLACE_VARIABLE = 'GAMEYARD_PROCESS'

/** What a process knows about its place among the processes of one machine. */
export interface Place {
  number: number
  count: number
  /** Whether this process prints the addresses and the set-up link: the first one of a start. */
  announces: boolean
  /** Whether the supervisor's output is a terminal. */
  terminal: boolean
}

/** What a process tells its supervisor. */
export type ToSupervisor =
  /** It wants the connections of a port. */
  | ({ t: 'listen' } & PortAddress)
  /** It serves. */
  | { t: 'ready' }

/** What the supervisor tells a process. */
export type ToProcess =
  /** The answer to `listen`; `code` is that of the system's error. */
  | ({ t: 'listening'; code?: string } & PortAddress)
  /** Comes with a listening socket, from which the process takes connections; `slot` is the process it belongs to. */
  | ({ t: 'accept'; slot: number } & PortAddress)
  /** Take no more connections from the sockets of this slot. */
  | { t: 'release'; slot: number }
  /** Comes with a connection. */
  | ({ t: 'connection' } & PortAddress)
  /** Another process has taken this one's place: end without a failed request. */
  | { t: 'leave' }
  | { t: 'stop' }
  /** What the host should know about the processes; null when all is well. */
  | { t: 'trouble'; message: string | null }

export const keyOf = ({ host, port }: PortAddress): string => `${host} ${port}`
