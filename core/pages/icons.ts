import { html, type View } from './html.ts'

const paths = {
  copy: 'M8 8V5.5A1.5 1.5 0 0 1 9.5 4h9A1.5 1.5 0 0 1 20 5.5v9a1.5 1.5 0 0 1-1.5 1.5H16M5.5 8h9A1.5 1.5 0 0 1 16 9.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 4 18.5v-9A1.5 1.5 0 0 1 5.5 8Z',
  info: 'M12 11v5.5M12 7.6v.1M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z',
  success: 'm8 12.4 2.8 2.8L16.2 9.6M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z',
  warn: 'M12 9.5v4M12 16.9v.1M10.3 4.4 2.7 17.6A2 2 0 0 0 4.4 20.6h15.2a2 2 0 0 0 1.7-3L13.7 4.4a2 2 0 0 0-3.4 0Z',
  error: 'M12 7.5v5.5M12 16.4v.1M8.3 3h7.4L21 8.3v7.4L15.7 21H8.3L3 15.7V8.3Z',
  close: 'm6 6 12 12M18 6 6 18',
  chevron: 'm6 9.5 6 6 6-6',
  next: 'm9.5 6 6 6-6 6',
  previous: 'm14.5 6-6 6 6 6',
  search: 'm20 20-4.4-4.4M17.5 11a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0Z',
  out: 'M8 5h11v11M18.5 5.5 5.5 18.5',
  sun: 'M12 3v1.6M12 19.4V21M4.6 4.6l1.2 1.2M18.2 18.2l1.2 1.2M3 12h1.6M19.4 12H21M4.6 19.4l1.2-1.2M18.2 5.8l1.2-1.2M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0Z',
  moon: 'M20.2 14.1A8.3 8.3 0 0 1 9.9 3.8a8.5 8.5 0 1 0 10.3 10.3Z',
} as const

export type IconName = keyof typeof paths

/** A line icon with the size and colour of the text. It is decorative, so the text next to it must have the meaning. */
export const Icon = ({ name }: { name: IconName }): View =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`

/** The logo: the roof of a yard with a ball in it. */
export const Mark = (): View =>
  html`<svg class="mark-sign" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><path d="M3.5 28.5V14.8L16 4l12.5 10.8v13.7" /><circle cx="16" cy="21" r="5.4" /></svg>`
