import { useLayoutEffect, useRef } from 'preact/hooks'
import { type Content, html, type View } from './html.ts'
import type { Workspace } from './workspace.ts'

/** A line of a console. */
export interface ConsoleEntry {
  id: number | string
  level: 'log' | 'info' | 'debug' | 'warn' | 'error'
  text: string
  /** Where it comes from, besides its place in a file. */
  from?: Content
  /** The path of a file of the draft; null where the place is unknown. */
  file: string | null
  line: number
  column: number
}

interface ConsoleListProps {
  label: string
  entries: ConsoleEntry[]
  workspace: Workspace
  /** Called before the place of a line is opened. */
  onShow: () => void
}

/** Lists lines, the newest last, and stays at the newest unless somebody has scrolled up. Places in files are buttons. */
export function ConsoleList({ label, entries, workspace, onShow }: ConsoleListProps): View {
  const list = useRef<HTMLOListElement>(null)
  const atEnd = useRef(true)
  useLayoutEffect(() => {
    if (list.current && atEnd.current) list.current.scrollTop = list.current.scrollHeight
  })
  const scrolled = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = list.current ?? {}
    atEnd.current = scrollHeight - scrollTop - clientHeight < 8
  }
  const show = async ({ file, line, column }: ConsoleEntry) => {
    if (file === null) return
    // The editor must be in sight to take the focus and to scroll.
    onShow()
    await workspace.show(file, { line, column })
  }
  const known = new Set(workspace.draft.files.map(({ path }) => path))
  return html`
    <ol class="code-console" tabindex="0" aria-label=${label} ref=${list} onScroll=${scrolled}>${entries.map(
      (entry) =>
        html`<li key=${entry.id} data-level=${entry.level}>${entry.text}${entry.from && html` <span class="soft">${entry.from}</span>`}${
          entry.file !== null &&
          known.has(entry.file) &&
          html` <button type="button" onClick=${() => show(entry)}>${entry.file}:${entry.line}</button>`
        }</li>`,
    )}</ol>`
}
