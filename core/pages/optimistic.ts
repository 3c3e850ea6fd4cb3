import { type Content, html, type View } from './html.ts'

export interface OptimisticToggleProps {
  /** The name that forms refer to as `optimistic`; several parts of a page may share it. */
  name: string
  /** The content after the server has agreed. Its forms lead back. */
  then: Content
  children?: Content
}

/**
 * A part of a page that a form switches between two states, such as public and private. With scripts, the new state
 * appears as soon as the form is sent (islands/optimistic-forms.ts), and reverts, with the reason, if the server
 * refuses. Use it only for predictable and reversible changes, never for payments or deletions.
 */
export const OptimisticToggle = ({ name, then, children }: OptimisticToggleProps): View => html`
  <div class="optimistic" data-once=${name}>${children}</div><template>${then}</template>`
