import { setTimeout as wait } from 'node:timers/promises'
import { type Api, backOff } from './api.ts'
import { CliError } from './errors.ts'
import { eventsOf } from './event-stream.ts'
import { printable, type Terminal } from './terminal.ts'

/** A line that a room script has logged. */
export interface LogLine {
  id: string
  at: string
  level: 'log' | 'error' | 'fatal'
  roomId: string
  deployId: string
  text: string
  line: number | null
  column: number | null
  stack: string | null
  /** The place in the file as its maker wrote it; servers of before 2026-12 do not say it. */
  source?: { path: string; line: number; column: number } | null
}

/** The most lines that one answer has. */
const MOST = 100
/** The platform sends a comment at least every 15 seconds. */
const IDLE_MS = 45_000

/** Fetches the newest lines of a game, the oldest first. */
export async function readLogs(api: Api, gameId: string, limit: number): Promise<LogLine[]> {
  const lines = await api.all<LogLine>(`/api/games/${gameId}/logs`, 'lines', { limit })
  return lines.reverse()
}

/**
 * Calls back with the newest lines of a game, the oldest first, and then with every further line, until the signal is
 * aborted. It connects again after an interruption. @throws CliError when the platform refuses
 */
export async function followLogs(
  api: Api,
  gameId: string,
  { limit, signal }: { limit: number; signal: AbortSignal },
  show: (line: LogLine) => void,
): Promise<void> {
  let seen = new Set<string>()
  /** The id of the first line. Ids sort by time. */
  let first = ''
  for (let attempt = 0; !signal.aborted; ) {
    try {
      const answer = await api.ask('GET', `/api/games/${gameId}/logs`, {
        query: { follow: true, limit: seen.size === 0 ? limit : MOST },
        headers: { accept: 'text/event-stream' },
        idleMs: IDLE_MS,
      })
      attempt = 0
      // A further stream begins with lines that may be older than the first one. Later, a line with a smaller id is one
      // that another node has stored after this node stored newer ones.
      let since = first
      for await (const { data } of eventsOf(answer.body)) {
        const { lines } = JSON.parse(data) as { lines: LogLine[] }
        for (const line of lines) if (line.id >= since && !seen.has(line.id)) show(line)
        since = ''
        first ||= lines[0]?.id ?? ''
        seen = new Set([...seen, ...lines.map(({ id }) => id)].slice(-MOST * 20))
      }
    } catch (error) {
      if (signal.aborted) return
      // A platform that is gone for a moment comes back. Every other refusal is final.
      if (error instanceof CliError && error.code !== 'unreachable') throw error
      await wait(Math.min(backOff(Math.min(++attempt, 5)), 10_000), undefined, { signal }).catch(() => {})
    }
  }
}

/** Formats a line for people: time, with the date if that is another day, room, text, and the place of an exception. */
export function formatLine(terminal: Pick<Terminal, 'style'>, entry: LogLine): string {
  const style: Terminal['style'] = (...values) => terminal.style(...values)
  const at = new Date(entry.at)
  const isToday = at.toDateString() === new Date().toDateString()
  const time = isToday ? at.toLocaleTimeString() : at.toLocaleString()
  const place = placeOf(entry)
  const text = printable(entry.text).replaceAll('\n', '\n  ')
  const shown = entry.level !== 'log' ? style('red', text) : text
  return `${style('dim', time)}  ${style('cyan', printable(entry.roomId))}  ${shown}${place && style('dim', ` (${place})`)}`
}

/** Returns the place of an exception, in the form that terminals and editors open at a click. */
function placeOf({ source, line, column }: LogLine): string {
  if (source) return printable(`${source.path}:${source.line}:${source.column}`)
  return line === null ? '' : `line ${line}, column ${column ?? 1}`
}
