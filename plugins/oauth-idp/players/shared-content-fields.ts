import { Avatar, Choices, html, type View } from '../../../core/pages/index.ts'
import { DELETED, fieldOf, type SharedItem } from './shared-content.ts'

interface SharedContentFieldsProps {
  items: readonly SharedItem[]
  /** The errors of a refused form, by field. */
  errors?: Record<string, string> | undefined
}

/** Asks in the form that ends an account what becomes of each item that others use as well. */
export const SharedContentFields = ({ items, errors = {} }: SharedContentFieldsProps): View => html`
  ${items.map(
    ({ id, title, successors }) =>
      html`<${Choices} legend=${`What becomes of ${title}?`} name=${fieldOf(id)} error=${errors[fieldOf(id)]} options=${[
        ...successors.map((successor) => ({
          value: successor.id,
          label: html`<span class="person"><${Avatar} name=${successor.name} imageUrl=${successor.imageUrl} size="s" /><span>Hand it over to <bdi>${successor.name}</bdi></span></span>`,
        })),
        { value: DELETED, label: 'Delete it', hint: successors.length === 0 ? 'Nobody can take it over.' : undefined },
      ]} />`,
  )}`
