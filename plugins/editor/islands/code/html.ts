import { html } from 'htm/preact'
import type { ComponentChildren, VNode } from 'preact'

export { html }
export type View = VNode
export type Content = ComponentChildren
