import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { python } from '@codemirror/lang-python'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'transparent', fontSize: '0.84rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.6',
    fontVariantLigatures: 'none',
    minHeight: 'var(--rows)',
  },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.6rem 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--ink-soft)', backgroundColor: 'transparent', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 0.6rem 0 0.8rem' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--ink) 4%, transparent)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--focus) 28%, transparent)',
  },
  '.cm-matchingBracket': { backgroundColor: 'color-mix(in srgb, var(--focus) 20%, transparent)' },
})

/** The editor uses the page's own colours in the light and dark theme. */
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.operatorKeyword], color: 'var(--act-text)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--play)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.comment], color: 'var(--ink-soft)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--focus)' },
  { tag: tags.invalid, color: 'var(--stop)' },
])

/** Replaces a field by an editor, whose text the field's form submits. */
export function edit(field: HTMLTextAreaElement): void {
  const label = document.querySelector<HTMLLabelElement>(`label[for="${field.id}"]`)
  const frame = document.createElement('div')
  frame.className = 'editor'
  frame.style.setProperty('--rows', `${field.rows * 1.4}rem`)
  field.before(frame)
  const view = new EditorView({
    // In a shadow root the library adopts its styles as objects, since the page's policy allows no style elements.
    root: frame.attachShadow({ mode: 'open' }),
    parent: frame.shadowRoot as unknown as HTMLElement,
    state: EditorState.create({
      doc: field.value,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        python(),
        indentUnit.of('    '),
        syntaxHighlighting(colours),
        theme,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          'aria-label': label?.firstChild?.textContent ?? 'Script',
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) field.value = state.doc.toString()
        }),
      ],
    }),
  })
  // A browser can't report an error at a hidden field, so the server reports a missing script.
  field.required = false
  field.hidden = true
  label?.addEventListener('click', () => view.focus())
  // "Back" restores the field after this script has read it.
  window.addEventListener('pageshow', () => {
    if (field.value !== view.state.doc.toString())
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: field.value } })
  })
  const hint = document.createElement('p')
  hint.className = 'hint'
  hint.id = `${field.id}-keys`
  hint.textContent = 'Tab indents; Escape, then Tab leaves the editor.'
  frame.after(hint)
  view.contentDOM.setAttribute('aria-describedby', hint.id)
}
