import { html, PageHeader, Tabs, type View } from '../../../core/pages/index.ts'

/** A page under /settings. */
export interface SettingsEntry {
  label: string
  href: string
  order: number
}

/** The top of each settings page: the way to the others. */
export const SettingsHeader = ({ entries, current }: { entries: SettingsEntry[]; current: string }): View => html`
  <${PageHeader} title="Settings" />
  <${Tabs} label="Settings" current=${current} tabs=${entries.toSorted((a, b) => a.order - b.order)} />`
