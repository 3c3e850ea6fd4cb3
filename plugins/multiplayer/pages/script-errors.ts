import { Card, type Content, html, Section, Timestamp, type View } from '../../../core/pages/index.ts'
import { type SourcePlace, sourceExcerpt } from '../../deploy/index.ts'
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

type LocatedError = ScriptError & { source: SourcePlace | null }

/** The number of different errors that the page shows. */
const MOST = 5
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

/** Adds each error's place in the file as its maker wrote it. @param locate finds places of a deploy's script */
export function withSources(
  errors: ScriptError[],
  locate: (deployId: string, places: { line: number; column: number }[]) => Promise<(SourcePlace | null)[]>,
): Promise<LocatedError[]> {
  return Promise.all(
    errors.map(async (error) => {
      const { line, column, deployId } = error
      const [source = null] = line === null ? [] : await locate(deployId, [{ line, column: column ?? 1 }])
      return { ...error, source }
    }),
  )
}

/** Renders the errors, each with its place in the source; nothing when there are none. */
export const errorsOf = (errors: LocatedError[], liveDeployId: string | null): Content =>
  errors.length > 0 &&
  html`<${Section} title="Last errors" description="Exceptions of the room script, and what ended rooms.">
    ${errors.map((error) => errorCard(error, liveDeployId))}
  <//>`

const errorCard = ({ source, ...error }: LocatedError, live: string | null): View => html`
  <${Card} title=${error.text} description=${html`${error.isFatal ? 'It ended the room' : 'In'} <code>${error.roomId}</code>, <${Timestamp} at=${error.at} />, script ${versionOf(error.deployId, live)}`}>
    ${source ? sourceExcerpt(source) : error.line !== null && html`<p class="soft">Line ${error.line} of a script that is gone.</p>`}
  <//>`
