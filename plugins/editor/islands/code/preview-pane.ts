import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ConsoleEntry, ConsoleList } from './console-list.ts'
import { html, type View } from './html.ts'
import { RoomLog } from './room-log.ts'
import type { Workspace } from './workspace.ts'

const MOST_LINES = 300
/** What a game may use. The frame begins at the portal, and ends at the address of the game. */
const ALLOW = ['fullscreen', 'gamepad', 'autoplay', 'xr-spatial-tracking'].map((feature) => `${feature} *`).join('; ')

interface PreviewProps {
  workspace: Workspace
  /** The address that leads to the preview; null where games have ports instead of names. */
  url: string | null
  /** The path of the log of room scripts; null on a platform without rooms. */
  roomLog: string | null
  onShow: () => void
}

/** The game as the draft has it, which loads again after each save, with its console and the log of its rooms. */
export function PreviewPane({ workspace, url, roomLog, onShow }: PreviewProps): View {
  const frame = useRef<HTMLIFrameElement>(null)
  const [lines, setLines] = useState<ConsoleEntry[]>([])
  const [load, setLoad] = useState(0)
  const [output, setOutput] = useState<'Console' | 'Room log'>('Console')
  const reload = useCallback(() => {
    setLines([])
    // Each load has its own frame, since a frame that goes to another address adds to the history of the window.
    setLoad((count) => count + 1)
  }, [])
  useEffect(() => {
    workspace.onSaved = reload
    let count = 0
    const listen = ({ data, source }: MessageEvent) => {
      if (source !== frame.current?.contentWindow || data?.gameyard !== 'console') return
      const { level, text, file, line, column } = data
      setLines((before) => [...before.slice(1 - MOST_LINES), { id: count++, level, text, file, line, column }])
    }
    addEventListener('message', listen)
    return () => removeEventListener('message', listen)
  }, [workspace, reload])
  const script = workspace.draft.room
  const outputs = [
    ...(url === null ? [] : (['Console'] as const)),
    ...(roomLog && script ? (['Room log'] as const) : []),
  ]
  const chosen = outputs.includes(output) ? output : outputs[0]
  return html`
    <section class="code-preview" aria-label="Preview">
      ${
        url === null
          ? html`<p class="code-empty">This server gives games ports instead of names, so a draft has no preview. Publish it to play it.</p>`
          : html`<div class="code-bar">
              <button class="button small" type="button" onClick=${reload}>Reload</button>
              <a class="button small" href=${url} target="_blank" rel="noopener">Open on its own</a>
            </div>
            <iframe key=${load} ref=${frame} src=${url} title="Preview of the draft" allow=${ALLOW}></iframe>`
      }
      ${
        outputs.length > 0 &&
        html`<div class="code-outputs" role="group" aria-label="Output">${outputs.map(
          (name) =>
            html`<button type="button" aria-pressed=${name === chosen ? 'true' : 'false'} onClick=${() => setOutput(name)}>${name}</button>`,
        )}</div>`
      }
      ${chosen === 'Console' && html`<${ConsoleList} label="Console" entries=${lines} workspace=${workspace} onShow=${onShow} />`}
      ${chosen === 'Room log' && html`<${RoomLog} workspace=${workspace} address=${roomLog} script=${script} onShow=${onShow} />`}
    </section>`
}
