import { Avatar, type Content, html } from '../../../core/pages/index.ts'
import type { Person } from './schemas.ts'

/** Renders the picture and the name of a player, for a choice or a heading. @param before the words before the name */
export const personLabel = ({ name, imageUrl }: Person, before = ''): Content =>
  html`<span class="person"><${Avatar} name=${name} imageUrl=${imageUrl} size="s" /><span>${before}<bdi>${name}</bdi></span></span>`
