import { html, PageHeader, Tabs, type View } from '../../../core/pages/index.ts'

/** A page under /settings. */
export interface SettingsEntry {
  label: string
  href: string
  order: number
}

/** The header of each settings page, with links to the other pages. */
export const SettingsHeader = ({ entries, current }: { entries: SettingsEntry[]; current: string }): View => html`
  <${PageHeader} title="Settings" />
  <${Tabs} label="Settings" current=${current} tabs=${entries.toSorted((a, b) => a.order - b.order)} />`
