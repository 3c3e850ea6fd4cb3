import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { css } from '@codemirror/lang-css'
import { html } from '@codemirror/lang-html'
import { javascript, javascriptLanguage } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { markdown } from '@codemirror/lang-markdown'
import { python } from '@codemirror/lang-python'
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
  syntaxTree,
} from '@codemirror/language'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { platformCompletions } from './completions.ts'
import type { Place, Workspace } from './workspace.ts'

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--sheet)', fontSize: '0.86rem', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', fontVariantLigatures: 'none' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.6rem 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--ink-soft)', backgroundColor: 'var(--sheet)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 0.6rem 0 0.8rem' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--ink) 4%, transparent)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--focus) 28%, transparent)',
  },
  '.cm-matchingBracket, .cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--focus) 20%, transparent)' },
  '.cm-panels': { color: 'var(--ink)', backgroundColor: 'var(--sunken)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--text)', fontSize: '0.86rem' },
  '.cm-textfield, .cm-button': {
    color: 'var(--ink)',
    backgroundColor: 'var(--sheet)',
    backgroundImage: 'none',
    borderColor: 'var(--edge)',
    borderRadius: '6px',
  },
  '.cm-tooltip': { color: 'var(--ink)', backgroundColor: 'var(--raised)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--act-ink)',
    backgroundColor: 'var(--act)',
    // Forced colours replace the background, and show this.
    outline: '2px solid transparent',
    outlineOffset: '-2px',
  },
  '.cm-completionDetail': { fontStyle: 'normal', marginLeft: '0.8em' },
})

/** The colours of the page, which differ by day and night. */
const colours = HighlightStyle.define([
  {
    tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.operatorKeyword, tags.tagName],
    color: 'var(--act-text)',
  },
  { tag: [tags.string, tags.special(tags.string), tags.attributeValue], color: 'var(--play)' },
  { tag: [tags.number, tags.bool, tags.null, tags.attributeName], color: 'var(--warn)' },
  { tag: [tags.comment], color: 'var(--ink-soft)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.heading], color: 'var(--focus)' },
  { tag: tags.invalid, color: 'var(--stop)' },
])

/** Returns the language of a file by its name. */
function languageOf(path: string): Extension {
  const suffix = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  if (['html', 'htm', 'svg', 'xml'].includes(suffix)) return html()
  if (suffix === 'css') return css()
  if (['json', 'webmanifest'].includes(suffix)) return json()
  if (suffix === 'py') return python()
  if (['md', 'markdown'].includes(suffix)) return markdown()
  return ['js', 'mjs', 'cjs', 'ts'].includes(suffix) ? javascript({ typescript: suffix === 'ts' }) : []
}

/** The text editor of the page. It shows one file at a time, and keeps cursor and history of each. */
export class TextEditor {
  readonly #view: EditorView
  readonly #workspace: Workspace
  readonly #states = new Map<string, { state: EditorState; loads: number }>()
  #path = ''

  /** @param frame an empty element */
  constructor(frame: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace
    this.#view = new EditorView({
      // In a shadow root the library adopts its styles as objects, since the page's policy allows no style elements.
      root: frame.attachShadow({ mode: 'open' }),
      parent: frame.shadowRoot as unknown as HTMLElement,
    })
  }

  /** Shows a file. @param loads as in `OpenFile`: a higher number replaces the text */
  show({ path, text, loads }: { path: string; text: string; loads: number }): void {
    if (path === this.#path && this.#states.get(path)?.loads === loads) return
    this.#keep()
    const known = this.#states.get(path)
    const state = known && known.loads === loads ? known.state : this.#stateOf(path, text)
    this.#states.set(path, { state, loads })
    this.#path = path
    this.#view.setState(state)
  }

  /** Moves the cursor. @param place counted from 1 */
  goTo({ line, column }: Place): void {
    const { doc } = this.#view.state
    const { from, length } = doc.line(Math.min(Math.max(1, line), doc.lines))
    const anchor = from + Math.min(Math.max(0, column - 1), length)
    this.#view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
    this.#view.focus()
  }

  /** Inserts an address at the cursor. Code gets it as a string. */
  insert(address: string): void {
    const { state } = this.#view
    const isCode = javascriptLanguage.isActiveAt(state, state.selection.main.from) && !isInText(state)
    this.#view.dispatch(state.replaceSelection(isCode ? `'${address}'` : address))
    this.#view.focus()
  }

  /** Forgets the files that are no longer open, with their cursor and history. */
  keepOnly(paths: ReadonlySet<string>): void {
    for (const path of this.#states.keys()) if (!paths.has(path)) this.#states.delete(path)
    if (!paths.has(this.#path)) this.#path = ''
  }

  #keep(): void {
    const known = this.#states.get(this.#path)
    if (known) known.state = this.#view.state
  }

  #stateOf(path: string, doc: string): EditorState {
    const workspace = this.#workspace
    const save = () => {
      workspace.saveAll()
      return true
    }
    const completions = platformCompletions(() => path === workspace.draft.room)
    return EditorState.create({
      doc,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        autocompletion(),
        EditorView.lineWrapping,
        languageOf(path),
        javascriptLanguage.data.of({ autocomplete: completions }),
        indentUnit.of('  '),
        syntaxHighlighting(colours),
        theme,
        keymap.of([
          { key: 'Mod-s', run: save, preventDefault: true },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...searchKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({
          // An editable element takes part in the order of Tab by itself; axe-core asks for the attribute.
          'aria-label': path,
          autocapitalize: 'off',
          spellcheck: 'false',
          tabindex: '0',
          'aria-description': 'Tab indents; Escape, then Tab leaves the editor.',
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          const file = docChanged && workspace.open.find((one) => one.path === path)
          if (file) workspace.edit(file, state.doc.toString())
        }),
      ],
    })
  }
}

/** Whether the cursor is inside a string or a comment. */
const isInText = (state: EditorState): boolean =>
  /String|Comment/.test(syntaxTree(state).resolveInner(state.selection.main.from).name)
