import { type Content, html, type View } from './html.ts'

export interface OptimisticToggleProps {
  /** The name that forms refer to as `optimistic`; several parts of a page may share one. */
  name: string
  /** How it looks once the server has agreed. From there, the forms in it lead back. */
  then: Content
  children?: Content
}

/**
 * A part of a page that a form switches between two states, such as public and private. Where scripts run, the other
 * state shows at once when the form is sent (islands/optimistic-forms.ts), and goes back, with the reason, if the server refuses.
 * Only for what is certain and can be undone: never for money, nor for what is then gone.
 */
export const OptimisticToggle = ({ name, then, children }: OptimisticToggleProps): View => html`
  <div class="optimistic" data-once=${name}>${children}</div><template>${then}</template>`
