import type { LogText } from './log.ts'

/** What a script asks of its room. */
export interface ScriptOperations {
  /** Whether the room has ended, so that nothing more is to be done. */
  isOver(): boolean
  /** @param ids null for everyone */
  send(ids: string[] | null, frame: string): void
  sendBinary(ids: string[] | null, bytes: Buffer): void
  write(set: Record<string, unknown>, del: string[]): void
  kick(id: string, reason: string): void
  lock(locked: boolean): void
  makeHost(id: string): void
  log(text: string): void
  /** @param player the id of the player whose message caused it; empty when none did */
  threw(error: LogText, player: string): void
  /** A score or save failed, and the script does not wait for it. */
  requestFailed(error: LogText): void
  /** The answer to `join`: null admits. */
  decided(question: number, refusal: string | null): void
  request(id: number, kind: string, values: unknown[]): void
  opened(settings: ScriptSettings): void
  /** @param data JSON */
  snapshot(data: string): void
  /** The script has heard that its room is over. @param openRequests those that it still waits for */
  closed(openRequests: number): void
}

const ignore = () => {}

/** Ignores what concerns a room that is over. */
export const WITHOUT_ROOM = {
  send: ignore,
  sendBinary: ignore,
  write: ignore,
  kick: ignore,
  lock: ignore,
  makeHost: ignore,
  decided: ignore,
  opened: ignore,
  snapshot: ignore,
} satisfies Partial<ScriptOperations>

/** What a script sets for its room. */
export interface ScriptSettings {
  tick: number
  players: number | null
  clientState: boolean
  relay: boolean
  /** Whether lists of rooms show it. */
  listed: boolean
  snapshot: boolean
}

/**
 * Reads operations and calls them in order. Each is a line of a letter and fields, separated by tabs
 * (`sandbox/prelude.js`). Frames and snapshots are JSON that is passed on as it is.
 *
 * @throws SyntaxError when the sandbox writes something else
 */
export function applyOperations(text: string, to: ScriptOperations): void {
  for (let at = 0; at < text.length && !to.isOver(); ) {
    const end = text.indexOf('\n', at)
    if (end === -1) throw new SyntaxError('An operation of a room script has no end.')
    apply(text.slice(at, end), to)
    at = end + 1
  }
}

function apply(line: string, to: ScriptOperations): void {
  const [letter, first = '', second = '', third = '', fourth = '""'] = line.split('\t') as [string, ...string[]]
  switch (letter) {
    case 'M':
      to.send(idsOf(first), second)
      break
    case 'B':
      // Each character is a byte plus 256, of which `latin1` keeps the lower eight bits.
      to.sendBinary(idsOf(first), Buffer.from(second, 'latin1'))
      break
    case 'S': {
      const { set, del } = JSON.parse(first)
      to.write(set, del)
      break
    }
    case 'K':
      to.kick(first, JSON.parse(second))
      break
    case 'L':
      to.lock(first === '1')
      break
    case 'H':
      to.makeHost(first)
      break
    case 'G':
      to.log(JSON.parse(first))
      break
    case 'E':
      to.threw({ name: JSON.parse(first), message: JSON.parse(second), stack: JSON.parse(third) }, JSON.parse(fourth))
      break
    case 'F':
      to.requestFailed({ name: JSON.parse(first), message: JSON.parse(second), stack: JSON.parse(third) })
      break
    case 'V':
      to.decided(Number(first), second === '' ? null : JSON.parse(second))
      break
    case 'Q':
      to.request(Number(first), second, JSON.parse(third))
      break
    case 'O':
      to.opened(JSON.parse(first))
      break
    case 'N':
      to.snapshot(first)
      break
    case 'C':
      to.closed(Number(first))
      break
    default:
      throw new SyntaxError('An operation of a room script is unknown.')
  }
}

const idsOf = (text: string): string[] | null => (text === '*' ? null : text.split(','))
