import { html } from 'htm/preact'
import { type ComponentChildren, createContext, h, type VNode } from 'preact'

export { html }

/** A piece of a page: what an `html` template gives, and what a component returns. */
export type View = VNode

/** The possible content of a piece of a page: pieces, text, numbers, lists of them, or nothing. */
export type Content = ComponentChildren

/** The tone of a notice or chip: neutral, success, attention, or failure. */
export type Tone = 'info' | 'success' | 'warn' | 'error'

/** Joins class names, leaving out what is not set. */
export const classes = (...names: unknown[]): string =>
  names.filter((name) => typeof name === 'string' && name !== '').join(' ')

const Level = createContext(2)

/** A heading one level below the one that it stands under, so that no level is ever skipped. */
export const Heading = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => h(`h${Math.min(level, 6)}`, { class: 'h3' }, children)}<//>`

/** The content under a heading: the headings in it are one level lower. */
export const Subsection = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => html`<${Level.Provider} value=${level + 1}>${children}<//>`}<//>`

/** Text with `code` in backquotes. */
export const inlineCode = (text: string): Content =>
  text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))
