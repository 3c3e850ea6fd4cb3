import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ViewerFiles } from '../../../assets/index.ts'
import { html, type View } from './html.ts'
import { ModelPane } from './model-pane.ts'
import type { OpenFile } from './open-file.ts'
import type { TextEditor } from './text-editor.ts'
import type { Place, Workspace } from './workspace.ts'

/** The addresses of scripts that load when they are needed. */
export interface Scripts {
  textEditor: string
  viewer: ViewerFiles
}

/** The tabs of open files, and the one that is shown. */
export function EditorPane({ workspace, scripts }: { workspace: Workspace; scripts: Scripts }): View {
  const { open, active } = workspace
  return html`
    <section class="code-editor" aria-label="Editor">
      <ul class="code-tabs">${open.map(
        (file) => html`<li key=${file.path} class=${file === active ? 'current' : ''}>
          <button type="button" aria-current=${file === active ? 'true' : undefined} onClick=${() => workspace.show(file.path)}>${nameOf(file.path)}${file.dirty && html`<span class="code-dot" title="Not saved yet"> •</span>`}</button>
          <button type="button" class="code-close" aria-label=${`Close ${nameOf(file.path)}`} onClick=${() => workspace.close(file.path)}>×</button>
        </li>`,
      )}</ul>
      ${active?.conflict && html`<${Conflict} workspace=${workspace} file=${active} />`}
      <${TextPane} workspace=${workspace} textEditor=${scripts.textEditor} />
      ${active && active.kind !== 'text' && html`<${Shown} key=${`${active.path} ${active.loads}`} file=${active} workspace=${workspace} viewer=${scripts.viewer} />`}
      ${!active && html`<p class="code-empty">Choose a file on the left, or make a new one.</p>`}
    </section>`
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const Conflict = ({ workspace, file }: { workspace: Workspace; file: OpenFile }): View => html`
  <div class="notice warn" role="alert">
    <div>${file.conflict?.who} changed this file${file.conflict?.at && html` at ${new Date(file.conflict.at).toLocaleTimeString()}`}. Your text is not saved.
      <div class="row">
        <button class="button small" type="button" onClick=${() => workspace.takeTheirs(file)}>Take theirs</button>
        <button class="button small" type="button" onClick=${() => workspace.save(file, true)}>Keep mine</button>
      </div>
    </div>
  </div>`

/**
 * Edits a text. A plain field does so until the text editor has loaded, which then stays while tabs change, so that it
 * keeps cursor and history of each file.
 */
function TextPane({ workspace, textEditor }: { workspace: Workspace; textEditor: string }): View {
  const frame = useRef<HTMLDivElement>(null)
  const plain = useRef<HTMLTextAreaElement>(null)
  const [editor, setEditor] = useState<TextEditor | null>(null)
  const { active } = workspace
  useEffect(() => {
    const load = async () => {
      const loaded = (await import(textEditor)) as typeof import('./text-editor.ts')
      if (!frame.current) return
      // Who types already goes on at the same place.
      if (plain.current && document.activeElement === plain.current) workspace.place = placeOf(plain.current)
      setEditor(new loaded.TextEditor(frame.current, workspace))
    }
    load().catch(() => workspace.report('The text editor did not load. A plain field is in its place.'))
  }, [workspace, textEditor])
  // Before the browser paints, since an empty editor for a moment would shift the text.
  useLayoutEffect(() => {
    if (!editor) return
    editor.keepOnly(new Set(workspace.open.map(({ path }) => path)))
    if (active?.kind !== 'text') return
    editor.show(active)
    if (workspace.place) editor.goTo(workspace.place)
    workspace.place = null
    const { insertion } = workspace
    workspace.insertion = null
    if (insertion !== null) editor.insert(insertion)
  })
  const input = (event: Event) => active && workspace.edit(active, (event.target as HTMLTextAreaElement).value)
  const isText = active?.kind === 'text'
  return html`
    <div class="code-text" hidden=${!isText || !editor} ref=${frame}></div>
    <p class="code-keys" aria-hidden="true">Tab indents; Escape, then Tab leaves the editor.</p>
    ${isText && !editor && html`<textarea class="code-plain" aria-label=${active.path} ref=${plain} value=${active.text} onInput=${input} autocapitalize="off" autocomplete="off" spellcheck=${false} wrap="off"></textarea>`}`
}

function placeOf({ value, selectionEnd }: HTMLTextAreaElement): Place {
  const lines = value.slice(0, selectionEnd).split('\n')
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 }
}

function Shown({ file, workspace, viewer }: { file: OpenFile; workspace: Workspace; viewer: ViewerFiles }): View {
  const url = `${workspace.api.addressOf(file.path)}?r=${file.revision}`
  if (file.kind === 'picture') return html`<div class="code-shown"><img src=${url} alt=${file.path} /></div>`
  if (file.kind === 'sound')
    return html`<div class="code-shown"><audio src=${url} controls aria-label=${file.path}></audio></div>`
  if (file.kind === 'video')
    return html`<div class="code-shown"><video src=${url} controls aria-label=${file.path}></video></div>`
  if (file.kind === 'model') return html`<${ModelPane} src=${url} path=${file.path} viewer=${viewer} />`
  return html`<p class="code-empty">${file.path} is no text, or larger than 256 KiB. <a href=${url} download=${nameOf(file.path)}>Download it</a></p>`
}
