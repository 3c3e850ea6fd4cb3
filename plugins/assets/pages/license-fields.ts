import { Field, html, type View } from '../../../core/pages/index.ts'
import { LICENSES } from '../license.ts'

const SUGGESTIONS = LICENSES.map(({ id, asks }) => ({ value: id, label: `asks for ${asks}` }))

interface LicenseForm {
  license?: string
  author?: string
}

/** The fields about the rights to an asset: its license, and its author. @param problems by field */
export const licenseFields = (
  { license, author }: LicenseForm = {},
  problems: { [Name in keyof LicenseForm]?: string | undefined } = {},
): View => html`
  <${Field} label="License" name="license" value=${license} required=${false} autocomplete="off" mono suggestions=${SUGGESTIONS} error=${problems.license}
    hint=${html`What others may do with it: an SPDX identifier, such as <code>CC0-1.0</code> (anything) or <code>CC-BY-4.0</code> (anything, with a credit).`} />
  <${Field} label="Author" name="author" value=${author} required=${false} maxlength=${200} autocomplete="off" error=${problems.author}
    hint="Who made it, if that isn’t you. Games name this in their credits." />`
