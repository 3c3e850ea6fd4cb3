import { useState } from 'preact/hooks'
import { ask } from './dialog.ts'
import { html, type View } from './html.ts'
import { SearchPane } from './search-pane.ts'
import { type TreeNode, treeOf } from './tree.ts'
import type { Workspace } from './workspace.ts'

/** The tree of files, with the buttons that change it. */
export function FilesPane({ workspace, onShow }: { workspace: Workspace; onShow: () => void }): View {
  const [over, setOver] = useState(false)
  const { draft, active } = workspace
  const show = async (path: string) => {
    await workspace.show(path)
    onShow()
  }
  const create = async () => {
    const folder = active?.path.includes('/') ? active.path.slice(0, active.path.lastIndexOf('/') + 1) : ''
    const path = (await ask({ title: 'New file', label: 'Path', value: folder, action: 'Create the file' }))?.trim()
    if (!path) return
    await workspace.act((api) => api.write(path, '', null))
    await show(path)
  }
  const rename = async (from: string) => {
    const to = (await ask({ title: 'Rename', label: 'New path', value: from, action: 'Rename' }))?.trim()
    if (!to || to === from || !(await workspace.settle())) return
    workspace.close(from)
    await workspace.act((api) => api.rename(from, to))
    if (draft.files.some(({ path }) => path === from)) await workspace.show(to)
  }
  const remove = async (path: string) => {
    const body = html`<p>The published game keeps ${path} until you publish.</p>`
    if ((await ask({ title: `Delete ${path}?`, body, action: 'Delete', danger: true })) === null) return
    workspace.close(path)
    await workspace.act((api) => api.remove(path))
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    void upload(workspace, [...(event.dataTransfer?.files ?? [])])
  }
  const choose = (event: Event) => {
    const input = event.target as HTMLInputElement
    void upload(workspace, [...(input.files ?? [])]).then(() => {
      input.value = ''
    })
  }
  const hold = (event: DragEvent) => {
    event.preventDefault()
    setOver(true)
  }
  return html`
    <section class=${`code-files${over ? ' over' : ''}`} aria-label="Files" onDragOver=${hold} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <div class="code-bar">
        <button class="button small" type="button" onClick=${create}>New file</button>
        <label class="button small code-upload">Upload<input class="visually-hidden" type="file" multiple onChange=${choose} /></label>
      </div>
      <${SearchPane} workspace=${workspace} onShow=${onShow} />
      <ul class="code-tree">${treeOf(draft.files).map((node) => html`<${Node} key=${node.path} node=${node} active=${active?.path} room=${draft.room} show=${show} />`)}</ul>
      ${draft.removed.length > 0 && html`<p class="hint">Deleted in this draft: ${draft.removed.join(', ')}</p>`}
      ${
        active &&
        html`<div class="code-bar code-actions">
          <button class="button small" type="button" onClick=${() => rename(active.path)}>Rename</button>
          <button class="button small danger" type="button" onClick=${() => remove(active.path)}>Delete</button>
          ${
            /\.m?js$/.test(active.path) &&
            html`<button class="button small" type="button" onClick=${() => workspace.act((api) => api.setRoom(draft.room === active.path ? null : active.path))}>${draft.room === active.path ? 'No room script' : 'Use as room script'}</button>`
          }
        </div>`
      }
      <p class="hint">Drop files here to add them.</p>
    </section>`
}

interface NodeProps {
  node: TreeNode
  active: string | undefined
  room: string | null
  show: (path: string) => void
}

function Node({ node, active, room, show }: NodeProps): View {
  const { name, path, file, children } = node
  if (!file) {
    return html`<li><details open><summary>${name}</summary><ul>${children.map(
      (child) => html`<${Node} key=${child.path} node=${child} active=${active} room=${room} show=${show} />`,
    )}</ul></details></li>`
  }
  return html`<li><button type="button" class=${file.change ?? ''} aria-current=${path === active ? 'true' : undefined} onClick=${() => show(path)}>
    ${name}${file.change && html`<span class="code-mark">${file.change === 'added' ? 'new' : 'changed'}</span>`}${path === room && html`<span class="code-mark">room</span>`}
  </button></li>`
}

/** Uploads files into the folder of the active one. A file of the same name is replaced. */
async function upload(workspace: Workspace, files: File[]): Promise<void> {
  const path = workspace.active?.path ?? ''
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  for (const file of files) await workspace.act((api) => api.write(folder + file.name.normalize('NFC'), file))
  const last = files.at(-1)
  if (last) await workspace.show(folder + last.name.normalize('NFC'))
}
