import { html } from 'htm/preact'
import { type ComponentChildren, createContext, h, type VNode } from 'preact'

export { html }

/** A piece of a page: what an `html` template gives, and what a component returns. */
export type View = VNode

/** What may stand inside a piece of a page: pieces, text, numbers, lists of them, or nothing. */
export type Content = ComponentChildren

/** What a coloured notice or chip says: nothing special, good, look here, or failed. */
export type Tone = 'info' | 'success' | 'warn' | 'error'

/** Joins class names, leaving out what is not set. */
export const classes = (...names: unknown[]): string =>
  names.filter((name) => typeof name === 'string' && name !== '').join(' ')

const Level = createContext(2)

/** A heading one level below the one that it stands under, so that no level is ever skipped. */
export const Heading = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => h(`h${Math.min(level, 6)}`, { class: 'h3' }, children)}<//>`

/** What stands under a heading: the headings in it are one level lower. */
export const Under = ({ children }: { children?: Content }): View =>
  html`<${Level.Consumer}>${(level: number) => html`<${Level.Provider} value=${level + 1}>${children}<//>`}<//>`
