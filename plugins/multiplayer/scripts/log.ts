import type { ScriptLogLine } from './interface.ts'

/** An exception as the sandbox reports it. */
export interface LogText {
  name: string
  message: string
  stack: string
}

/** Lines that a room may log in a second, and at once. */
const LINES = { perSecond: 50, atOnce: 200 }

/** Makes the lines of a room's log, and leaves out what comes too fast. */
export class ScriptLog {
  readonly #write: (line: ScriptLogLine) => void
  readonly #room: { roomId: string; deployId: string; path: string }
  #left = LINES.atOnce
  #at = 0
  #leftOut = 0

  constructor(room: { roomId: string; deployId: string; path: string }, write: (line: ScriptLogLine) => void) {
    this.#room = room
    this.#write = write
  }

  log(at: number, text: string): void {
    this.#add({ at, level: 'log', ...this.#names, text })
  }

  /** Logs an exception, and returns its line with its place in the source. @param level `fatal`: it ended the room */
  error(at: number, { name, message, stack }: LogText, level: 'error' | 'fatal' = 'error'): ScriptLogLine {
    const text = name === '' ? message : `${name}: ${message}`
    const place = placeIn(stack, this.#room.path)
    const line: ScriptLogLine = { at, level, ...this.#names, text, ...place, ...(stack ? { stack } : {}) }
    this.#add(line)
    return line
  }

  get #names(): { roomId: string; deployId: string } {
    return { roomId: this.#room.roomId, deployId: this.#room.deployId }
  }

  #add(line: ScriptLogLine): void {
    this.#left = Math.min(LINES.atOnce, this.#left + (Math.max(0, line.at - this.#at) / 1000) * LINES.perSecond)
    this.#at = line.at
    // What ended the room is the last line, and the one that its maker looks for.
    if (this.#left < 1 && line.level !== 'fatal') {
      this.#leftOut++
      return
    }
    if (this.#leftOut > 0) {
      const text = `${this.#leftOut} lines were left out, since the room logged too fast.`
      this.#write({ at: line.at, level: 'error', ...this.#names, text })
      this.#leftOut = 0
    }
    this.#left--
    this.#write(line)
  }
}

/** A script has at most so many bytes, so that no line or column is further. */
const FURTHEST = 1024 * 1024

/** Finds the first place in the script itself: `    at tick (room.js:12:5)`. The stack may be the script's invention. */
function placeIn(stack: string, path: string): { line: number; column: number } | undefined {
  for (const part of stack.split('\n')) {
    const at = part.lastIndexOf(`${path}:`)
    if (at === -1) continue
    const [line = 0, column = 1] = part
      .slice(at + path.length + 1)
      .split(':')
      .map((number) => Number.parseInt(number, 10))
    if (!(line > 0 && line <= FURTHEST)) continue
    return { line, column: column > 0 && column <= FURTHEST ? column : 1 }
  }
}
