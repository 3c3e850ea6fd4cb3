import { useEffect, useState } from 'preact/hooks'
import { ConsoleList } from './console-list.ts'
import { html, type View } from './html.ts'
import type { Workspace } from './workspace.ts'

/** A line of the log, in the form of `GET /api/games/:id/logs`. */
interface LogLine {
  id: string
  at: string
  level: 'log' | 'error' | 'fatal'
  roomId: string
  deployId: string
  text: string
  line: number | null
  column: number | null
}

const MOST_LINES = 300
/** The lines that are shown at first. */
const FIRST_LINES = 50

interface RoomLogProps {
  workspace: Workspace
  /** The path of the log. */
  address: string
  /** The path of the room script in the draft. */
  script: string
  onShow: () => void
}

/** What the room script says in the rooms of the game, those of the preview included. It is live while it is shown. */
export function RoomLog({ workspace, address, script, onShow }: RoomLogProps): View {
  const [lines, setLines] = useState<LogLine[] | null>(null)
  useEffect(() => {
    // A browser has few connections for one server, so a hidden log has none.
    const stream = new EventSource(`${address}?follow=true&limit=${FIRST_LINES}`)
    stream.addEventListener('lines', ({ data }) => {
      const { lines: sent } = JSON.parse(data) as { lines: LogLine[] }
      // A stream that was connected again begins with lines that are here already.
      setLines((before) => {
        const known = new Set(before?.map(({ id }) => id))
        return [...(before ?? []), ...sent.filter(({ id }) => !known.has(id))].slice(-MOST_LINES)
      })
    })
    return () => stream.close()
  }, [address])
  if (!lines) return html`<p class="code-console code-note" role="status">Connecting …</p>`
  if (lines.length === 0) {
    return html`<p class="code-console code-note">Nothing is logged yet. A script writes a line with <code>room.log('round over', score)</code> once somebody is in a room.</p>`
  }
  const { baseDeployId } = workspace.draft
  const entries = lines.map(({ id, at, level, roomId, deployId, text, line, column }) => ({
    id,
    level: level === 'fatal' ? 'error' : level,
    text,
    file: line === null ? null : script,
    line: line ?? 1,
    column: column ?? 1,
    from: `${new Date(at).toLocaleTimeString()} ${roomId}, ${versionOf(deployId, baseDeployId)}`,
  }))
  return html`<${ConsoleList} label="Room log" entries=${entries} workspace=${workspace} onShow=${onShow} />`
}

/** Names the version of the script that has logged a line. */
const versionOf = (deployId: string, baseDeployId: string | null): string =>
  deployId.startsWith('drf_') ? 'preview' : deployId === baseDeployId ? 'published' : 'an earlier version'
