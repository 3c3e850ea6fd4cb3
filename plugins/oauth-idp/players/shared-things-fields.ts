import { Choices, html, type View } from '../../../core/pages/index.ts'
import { DELETED, fieldOf, type SharedThing } from './shared-things.ts'

interface SharedThingsFieldsProps {
  things: readonly SharedThing[]
  /** The errors of a refused form, by field. */
  errors?: Record<string, string> | undefined
}

/** Asks in the form that ends an account what becomes of each thing that others use as well. */
export const SharedThingsFields = ({ things, errors = {} }: SharedThingsFieldsProps): View => html`
  ${things.map(
    ({ id, title, heirs }) =>
      html`<${Choices} legend=${`What becomes of ${title}?`} name=${fieldOf(id)} error=${errors[fieldOf(id)]} options=${[
        ...heirs.map((heir) => ({ value: heir.id, label: html`Hand it over to <bdi>${heir.name}</bdi>` })),
        { value: DELETED, label: 'Delete it', hint: heirs.length === 0 ? 'Nobody can take it over.' : undefined },
      ]} />`,
  )}`
