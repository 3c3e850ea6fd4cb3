import { type Content, classes, Heading, html, type Tone, type View } from './html.ts'
import { Icon } from './icons.ts'

export interface NoticeProps {
  /** Default `info`. `error` and `warn` interrupt a screen reader (`role=alert`), the others wait (`role=status`). */
  tone?: Tone
  title?: string | undefined
  /** Adds a dismiss button, which needs scripts. */
  dismissible?: boolean
  children?: Content
}

/** A message with a symbol in addition to its colour. */
export const Notice = ({ tone = 'info', title, dismissible, children }: NoticeProps): View => html`
  <div class=${classes('notice', tone)} role=${tone === 'error' || tone === 'warn' ? 'alert' : 'status'}>
    <${Icon} name=${tone} />
    <div class="notice-body">${title && html`<strong>${title}</strong>`}<div>${children}</div></div>
    ${dismissible && html`<button class="notice-close" type="button" hidden data-dismiss aria-label="Dismiss"><${Icon} name="close" /></button>`}
  </div>`

export interface ChipProps {
  /** Whether the subject is active now, such as playing, live or running, which draws the dot. */
  live?: boolean
  tone?: Tone
  children?: Content
}

/** A state in one word. Only active states have the dot. */
export const Chip = ({ live, tone = 'info', children }: ChipProps): View =>
  html`<span class=${classes('chip', live ? 'live' : tone)}>${children}</span>`

/** A fence with a ball that flew over it, for empty states that are no errors. */
export const FenceArt = (): View => html`
  <svg class="fence-art" viewBox="0 0 132 76" aria-hidden="true" focusable="false">
    <path d="M4 68h124M16 68V43l7-7 7 7v25M44 68V43l7-7 7 7v25M72 68V43l7-7 7 7v25M9 53h7M30 53h14M58 53h14M86 53h8" />
    <path class="arc" d="M22 24q14-26 32-8t34-2 30 38" />
    <circle cx="118" cy="61" r="7" />
  </svg>`

export interface EmptyStateProps {
  /** Names the missing content: "No tokens yet". */
  title: string
  /** The benefit and the first step, in a sentence or two. */
  children?: Content
  /** A command for the first step, with a copy button. */
  command?: string
  /** A button for the first step. */
  action?: { href: string; label: string }
}

/** Replaces an empty list: explains its future content and the first step. */
export const EmptyState = ({ title, children, command, action }: EmptyStateProps): View => html`
  <div class="empty">
    <${FenceArt} />
    <${Heading}>${title}<//>
    <div class="empty-text">${children}</div>
    ${command && html`<${CodeBlock} code=${command} />`}
    ${action && html`<a class="button act" href=${action.href}>${action.label}</a>`}
  </div>`

export interface CodeBlockProps {
  code: string
  /** The kind of content: a file name, a language, "Terminal". */
  title?: string | undefined
  /** Adds a copy button, which needs scripts; default true. */
  copy?: boolean
}

/** Text to type or paste, with a copy button. */
export const CodeBlock = ({ code, title, copy = true }: CodeBlockProps): View => html`
  <figure class=${classes('code', title && 'titled')}>
    ${title && html`<figcaption>${title}</figcaption>`}
    <pre tabindex="0"><code>${code}</code></pre>
    ${copy && html`<button class="copy" type="button" hidden data-copy aria-label=${copyLabel(code, title)}><${Icon} name="copy" /><span>Copy</span></button>`}
  </figure>`

/**
 * Names the copy button of a block by its title and the first line that is no import, since a page has several blocks
 * with one title.
 */
export function copyLabel(code: string, title = ''): string {
  const lines = code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const line = lines.find((text) => !text.startsWith('import ')) ?? lines[0] ?? ''
  return `Copy${title && ` ${title}`}: ${line.length > LABEL_LENGTH ? `${line.slice(0, LABEL_LENGTH)}…` : line}`
}

const LABEL_LENGTH = 60

/** A value to copy (a key, an address), in wrapping monospace, with a copy button. */
export const CopyValue = ({ value, label }: { value: string; label: string }): View => html`
  <span class="copy-value" role="group" aria-label=${label}><code>${value}</code><button class="copy" type="button" hidden data-copy aria-label=${`Copy ${label}`}><${Icon} name="copy" /><span>Copy</span></button></span>`

const shown = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

const shownDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

export interface TimestampProps {
  /** The instant; null or undefined shows `never`. */
  at: Date | string | number | null | undefined
  /** Shows only the day, for narrow columns; the `title` has the exact time. */
  day?: boolean
  /** Text for a missing time; default "never". */
  never?: string
}

/** A time, which the server writes in UTC and a script converts to the reader's time zone. */
export function Timestamp({ at, day, never = 'never' }: TimestampProps): View {
  if (at === null || at === undefined) return html`<span class="soft">${never}</span>`
  const instant = new Date(at)
  if (day) return html`<time datetime=${instant.toISOString()} data-when="day">${shownDay.format(instant)}</time>`
  return html`<time datetime=${instant.toISOString()} data-when>${shown.format(instant)}\u00a0UTC</time>`
}
