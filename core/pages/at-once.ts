import { type Content, html, type View } from './html.ts'

export interface AtOnceProps {
  /** What the forms that change it name as `atOnce`; several parts of a page may share one. */
  name: string
  /** How it looks once the server has agreed. From there, the forms in it lead back. */
  then: Content
  children?: Content
}

/**
 * A part of a page that a form switches between two states, such as public and private. Where scripts run, the other
 * state shows at once when the form is sent (islands/at-once.ts), and goes back, with the reason, if the server refuses.
 * Only for what is certain and can be undone: never for money, nor for what is then gone.
 */
export const AtOnce = ({ name, then, children }: AtOnceProps): View => html`
  <div class="at-once" data-once=${name}>${children}</div><template>${then}</template>`
