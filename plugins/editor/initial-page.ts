import { html, type View } from '../../core/pages/index.ts'
import type { DraftPage } from './page-data.ts'
import { PANES } from './panes.ts'

/**
 * The page *Code* before its script runs, in the same places as after. The first text can be typed in at once; the
 * script then goes on with what was typed.
 */
export function initialPage({ first }: DraftPage): View {
  return html`
    <div class="code-page" data-pane="Code">
      <div class="code-head">
        <p class="code-status" role="status">Opening the files …</p>
        <div class="code-panes" role="group" aria-label="Panes">${PANES.map((name) => html`<button type="button" disabled>${name}</button>`)}</div>
        <div class="row"><button class="button act" type="button" disabled>Publish</button></div>
      </div>
      <div class="code-body">
        <section class="code-files" aria-label="Files"></section>
        <section class="code-editor" aria-label="Editor">${
          first &&
          html`<ul class="code-tabs"><li class="current"><button type="button" disabled>${first.path.slice(first.path.lastIndexOf('/') + 1)}</button></li></ul>
            <textarea class="code-plain" aria-label=${first.path} autocapitalize="off" autocomplete="off" spellcheck="false" wrap="off">${`\n${first.text}`}</textarea>`
        }</section>
        <div class="code-side"></div>
      </div>
    </div>`
}
