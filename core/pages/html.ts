import { html } from 'htm/preact'
import { type ComponentChildren, createContext, h, type VNode } from 'preact'

export { html }

/** A piece of a page: the result of an `html` template or a component. */
export type View = VNode

/** The content of a piece of a page: pieces, text, numbers, lists of them, or nothing. */
export type Content = ComponentChildren

/** The tone of a notice or chip: neutral, success, attention, or failure. */
export type Tone = 'info' | 'success' | 'warn' | 'error'

/** Joins class names and omits falsy ones. */
export const classes = (...names: unknown[]): string =>
  names.filter((name) => typeof name === 'string' && name !== '').join(' ')

const Level = createContext(2)

/** A heading one level below its parent heading, so that no level is skipped. */
export const Heading = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => h(`h${Math.min(level, 6)}`, { class: 'h3' }, children)}<//>`

/** Content below a heading. Headings in it are one level lower. */
export const Subsection = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => html`<${Level.Provider} value=${level + 1}>${children}<//>`}<//>`

/** Formats text with `code` in backquotes. */
export const inlineCode = (text: string): Content =>
  text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))
