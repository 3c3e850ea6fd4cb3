import { Card, type Content, html, Section, Timestamp, type View } from '../../../core/pages/index.ts'
import type { RoomInfo } from '../hosting/rooms.ts'
import type { LogLine } from '../script-logs/schemas.ts'
import { versionOf } from './rooms.ts'

/** An exception of a script, with the room in which it was thrown last. */
interface ScriptError {
  text: string
  line: number | null
  column: number | null
  /** In ms since 1970. */
  at: number
  roomId: string
  deployId: string
  /** Whether it ended the room. */
  isFatal: boolean
}

/** The lines of a source around an error. */
interface Excerpt {
  path: string
  /** The number of the first line. */
  from: number
  lines: string[]
}

/** The number of different errors that the page shows. */
const MOST = 5
/** The number of lines before and after the place of an error. */
const AROUND = 3
/** A line of a minified source can have a megabyte. */
const LONGEST_LINE = 160

/** Returns the last errors of rooms and of the log, each once: those that ended a room first, and of each kind the newest. */
export function lastErrors(rooms: RoomInfo[], lines: LogLine[]): ScriptError[] {
  const ofRooms = rooms.flatMap(({ id, script }) =>
    script?.lastError ? [{ ...script.lastError, roomId: id, deployId: script.deployId, isFatal: false }] : [],
  )
  const ofLog = lines
    .filter(({ level, line }) => level === 'fatal' || (level === 'error' && line !== null))
    .map(({ level, text, line, column, at, roomId, deployId }) => ({
      text,
      line,
      column,
      roomId,
      deployId,
      at: new Date(at).getTime(),
      isFatal: level === 'fatal',
    }))
  const different = new Map<string, ScriptError>()
  for (const error of [...ofRooms, ...ofLog].toSorted((a, b) => Number(b.isFatal) - Number(a.isFatal) || b.at - a.at)) {
    const key = `${error.deployId} ${error.line} ${error.text}`
    if (!different.has(key)) different.set(key, error)
  }
  return [...different.values()].slice(0, MOST)
}

/** Adds the lines around each error's place. @param load returns the script of a deploy; null when it is gone */
export function withExcerpts(
  errors: ScriptError[],
  load: (deployId: string) => Promise<{ path: string; source: string } | null>,
): Promise<(ScriptError & { excerpt: Excerpt | null })[]> {
  return Promise.all(
    errors.map(async (error) => {
      const script = error.line === null ? null : await load(error.deployId)
      return { ...error, excerpt: script && excerptOf(script, error) }
    }),
  )
}

function excerptOf({ path, source }: { path: string; source: string }, { line }: ScriptError): Excerpt | null {
  const lines = source.trimEnd().split('\n')
  if (line === null || line > lines.length) return null
  const from = Math.max(1, line - AROUND)
  const shown = lines.slice(from - 1, line + AROUND)
  return { path, from, lines: shown.map((text) => cut(text.trimEnd())) }
}

const cut = (text: string): string => (text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text)

/** Renders the errors, each with its place in the source; nothing when there are none. */
export const errorsOf = (errors: (ScriptError & { excerpt: Excerpt | null })[], liveDeployId: string | null): Content =>
  errors.length > 0 &&
  html`<${Section} title="Last errors" description="Exceptions of the room script, and what ended rooms.">
    ${errors.map((error) => errorCard(error, liveDeployId))}
  <//>`

const errorCard = ({ excerpt, ...error }: ScriptError & { excerpt: Excerpt | null }, live: string | null): View => html`
  <${Card} title=${error.text} description=${html`${error.isFatal ? 'It ended the room' : 'In'} <code>${error.roomId}</code>, <${Timestamp} at=${error.at} />, script ${versionOf(error.deployId, live)}`}>
    ${excerpt ? source(excerpt, error) : error.line !== null && html`<p class="soft">Line ${error.line} of a script that is gone.</p>`}
  <//>`

const source = ({ path, from, lines }: Excerpt, { line, column }: ScriptError): View => html`
  <figure class="code titled">
    <figcaption>${path}:${line}:${column ?? 1}</figcaption>
    <pre tabindex="0"><code>${lines.map((text, index) => {
      const number = from + index
      const content = `${String(number).padStart(5)}  ${text}\n`
      return number === line ? html`<mark>${content}</mark>` : content
    })}</code></pre>
  </figure>`
