import { html } from '../../../core/pages/index.ts'
import { LICENSES } from '../license.ts'

export const LICENSE_HINT = html`What others may do with it: an SPDX identifier, such as <code>CC0-1.0</code> (anything) or <code>CC-BY-4.0</code> (anything, with a credit).`
export const LICENSE_SUGGESTIONS = LICENSES.map(({ id, asks }) => ({ value: id, label: `asks for ${asks}` }))
export const AUTHOR_HINT = 'Who made it, if that isn’t you. Games name this in their credits.'
