import { useState } from 'preact/hooks'
import { PANES } from '../../panes.ts'
import { AssetsPane } from './assets-pane.ts'
import { Changes } from './changes.ts'
import { ask } from './dialog.ts'
import { EditorPane, type Scripts } from './editor-pane.ts'
import { FilesPane } from './files-pane.ts'
import { History } from './history.ts'
import { html, type View } from './html.ts'
import { PreviewPane } from './preview-pane.ts'
import type { Status, Workspace } from './workspace.ts'

const STATUS: Record<Status, string> = {
  saved: 'Saved',
  unsaved: 'Not saved yet',
  saving: 'Saving …',
  offline: 'No connection. Your text is kept in this browser.',
  conflict: 'Changed elsewhere',
}

type Pane = (typeof PANES)[number]

interface AppProps {
  workspace: Workspace
  /** The address that leads to the preview; null where games have ports instead of names. */
  preview: string | null
  scripts: Scripts
  /** The stream of what room scripts log; null on a platform without rooms. */
  roomLog: string | null
  /** The address of the API that lists assets. */
  assets: string
}

/** The editor. On a narrow screen one pane is shown at a time. */
export function App({ workspace, preview, scripts, roomLog, assets }: AppProps): View {
  const [pane, setPane] = useState<Pane>('Code')
  const [published, setPublished] = useState<string | null>(null)
  const { draft, status, problem } = workspace
  // A wide page has files and text beside the chosen pane, which is the preview at first.
  const shown = isNarrow() || (pane !== 'Files' && pane !== 'Code') ? pane : 'Preview'
  // The button stays in the order of the keyboard, which `disabled` would remove under the focus.
  const isUnchanged = !draft.changed && status === 'saved'
  const publish = async () => {
    if (!(await workspace.settle())) return
    const changes = await workspace.api.compare().catch(() => null)
    const body = changes && html`<${Changes} files=${changes.files} />`
    const message = await ask({ title: 'Publish', label: 'Message', body, action: 'Publish now' })
    if (message === null) return
    const done = await workspace.act((api) => api.publish(message.trim()))
    if (done) setPublished(done.playUrl)
  }
  const discard = async () => {
    const body = html`<p>All files are again as in the published game.</p>`
    if ((await ask({ title: 'Throw the draft away?', body, action: 'Throw away', danger: true })) === null) return
    workspace.abandon()
    await workspace.act((api) => api.discard())
  }
  return html`
    <div class="code-page" data-pane=${pane} data-ready>
      <div class="code-head">
        <p class=${`code-status ${status}`} role="status">${STATUS[status]}</p>
        <div class="code-panes" role="group" aria-label="Panes">${PANES.map(
          (name) =>
            html`<button type="button" aria-pressed=${name === shown ? 'true' : 'false'} onClick=${() => setPane(name)}>${name}</button>`,
        )}</div>
        <div class="row">
          ${draft.changed && html`<button class="button" type="button" onClick=${discard}>Throw away</button>`}
          <button class="button act" type="button" aria-disabled=${isUnchanged ? 'true' : undefined} onClick=${isUnchanged ? undefined : publish}>Publish</button>
        </div>
      </div>
      ${problem && html`<div class="notice error" role="alert"><div>${problem} <button class="button small quiet" type="button" onClick=${() => workspace.report(null)}>Close</button></div></div>`}
      ${published && html`<div class="notice success" role="status" tabindex="-1" ref=${takeFocus}><div>Your game is live. <a href=${published}>Play it</a></div></div>`}
      ${
        draft.outdated &&
        html`<div class="notice warn" role="status"><div>Another deploy went live since this draft began. <button class="button small" type="button" onClick=${() => workspace.act((api) => api.rebase())}>Take its other files</button></div></div>`
      }
      <div class="code-body">
        <${FilesPane} workspace=${workspace} onShow=${() => setPane('Code')} />
        <${EditorPane} workspace=${workspace} scripts=${scripts} />
        <div class="code-side">
          <${PreviewPane} workspace=${workspace} url=${preview} roomLog=${roomLog} onShow=${() => setPane('Code')} />
          <${AssetsPane} workspace=${workspace} library=${assets} shown=${pane === 'Assets'} onInsert=${() => isNarrow() && setPane('Code')} />
          <${History} workspace=${workspace} shown=${pane === 'History'} />
        </div>
      </div>
    </div>`
}

/** Gives the focus to a message when it appears, unless the maker has gone on to something else, such as the text. */
function takeFocus(message: HTMLElement | null): void {
  const { activeElement, body } = document
  const hasStayed = !activeElement || activeElement === body || activeElement.closest('.code-head')
  if (hasStayed) message?.focus()
}

/** Whether the page shows one pane at a time, as `code.css` does. */
const isNarrow = (): boolean => matchMedia('(max-width: 900px)').matches
