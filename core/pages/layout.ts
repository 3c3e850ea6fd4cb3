import { type Content, classes, Heading, html, Subsection, type View } from './html.ts'

export interface PageHeaderProps {
  title: Content
  /** The breadcrumbs: `[{ label: 'Games', href: '/games' }]`. */
  crumbs?: { label: string; href: string }[]
  /** One or two chips next to the title. */
  chips?: Content
  /** A line below the title that explains the page. */
  lede?: Content
  /** The public address of the page's subject; wraps on a phone. */
  address?: string | undefined
  /** Buttons, at most one of kind `act`. */
  actions?: Content
}

/** The head of a page with its only `<h1>`. */
export const PageHeader = ({ title, crumbs, chips, lede, address, actions }: PageHeaderProps): View => html`
  <header class="page-header">
    ${
      crumbs &&
      html`<nav class="crumbs" aria-label="Breadcrumb"><ol>${crumbs.map(
        (crumb) => html`<li><a href=${crumb.href}>${crumb.label}</a></li>`,
      )}</ol></nav>`
    }
    <div class="page-header-row">
      <div class=${classes('page-header-text', isLong(lede) && 'long')}>
        <div class="page-title"><h1>${title}</h1>${chips}</div>
        ${address && html`<a class="address" href=${address}>${address.replace(/^https?:\/\//, '')}</a>`}
        ${lede && html`<p class="lede">${lede}</p>`}
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
  </header>`

/** Whether the text needs more than three lines of a narrow column. */
const isLong = (lede: Content): boolean => typeof lede === 'string' && lede.length > 140

export interface SectionProps {
  title: string
  id?: string | undefined
  /** A sentence below the heading. */
  description?: Content
  /** A link or button at the end of the heading's line. */
  action?: Content
  /** `side` puts heading and description on the left and the content next to them, as on settings pages. */
  layout?: 'stack' | 'side'
  children?: Content
}

/** A part of a page with an `<h2>`. */
export const Section = ({ title, id, description, action, layout = 'stack', children }: SectionProps): View => html`
  <section class=${classes('section', layout)} id=${id}>
    <div class="section-head"><div><h2>${title}</h2>${description && html`<p>${description}</p>`}</div>${action}</div>
    <div class="section-body"><${Subsection}>${children}<//></div>
  </section>`

export interface CardProps {
  /** A heading, whose level depends on the position of the card. */
  title?: string | undefined
  /** A sentence below the title. */
  description?: Content
  /** A separate line at the bottom. */
  footer?: Content
  /** Removes the padding, for a table or image that fills the card. */
  flush?: boolean
  children?: Content
}

/** A bordered area of the page. */
export const Card = ({ title, description, footer, flush, children }: CardProps): View => html`
  <div class=${classes('card', flush && 'flush')}>
    ${title && html`<div class="card-head"><${Heading}>${title}<//>${description && html`<p>${description}</p>`}</div>`}
    ${title ? html`<${Subsection}>${children}<//>` : children}
    ${footer && html`<div class="card-foot">${footer}</div>`}
  </div>`

/** The content with a narrow column next to it, or below it on a phone. */
export const Split = ({ aside, children }: { aside: Content; children?: Content }): View => html`
  <div class="split"><div class="stack">${children}</div><aside class="stack">${aside}</aside></div>`

/** Arranges elements vertically with even spacing. */
export const Stack = ({ children }: { children?: Content }): View => html`<div class="stack">${children}</div>`

/** Arranges small elements horizontally with wrapping: buttons, chips. */
export const Row = ({ children }: { children?: Content }): View => html`<div class="row">${children}</div>`

/** Arranges cards in as many columns as fit. */
export const Grid = ({ children }: { children?: Content }): View => html`<div class="grid">${children}</div>`

/** A muted line below a card: an alternative link, a footnote. With `ends`, spreads several links over the line. */
export const Note = ({ ends, children }: { ends?: boolean; children?: Content }): View =>
  html`<p class=${classes('note', ends && 'ends')}>${children}</p>`

export interface TabsProps {
  /** Name of the common subject for screen readers: the game's title. */
  label: string
  tabs: { label: string; href: string }[]
  /** `href` of the current page. */
  current: string
}

/** Links to the pages of one subject. */
export const Tabs = ({ label, tabs, current }: TabsProps): View => html`
  <nav class="tabs" aria-label=${label}><ul>${tabs.map(
    (tab) =>
      html`<li><a href=${tab.href} aria-current=${tab.href === current ? 'page' : undefined}>${tab.label}</a></li>`,
  )}</ul></nav>`

export interface Stat {
  label: string
  /** Numbers are formatted with thousands separators. */
  value: number | string
  /** Whether the subject is active now, which draws the dot. */
  live?: boolean
  /** Name of the part, for live updates by a stream (`data-events`). */
  part?: string | undefined
}

const grouped = new Intl.NumberFormat('en')

/** A few important numbers side by side; on a phone two in each row. */
export const Stats = ({ items }: { items: Stat[] }): View => html`
  <dl class="stats">${items.map(
    ({ label, value, live, part }) =>
      html`<div><dt class=${live ? 'live' : undefined}>${label}</dt><dd data-part=${part}>${typeof value === 'number' ? grouped.format(value) : value}</dd></div>`,
  )}</dl>`

/** Names and values of one subject: client id, redirect URI, created. */
export const DescriptionList = ({ items }: { items: { term: string; detail: Content }[] }): View => html`
  <dl class="facts">${items.map(({ term, detail }) => html`<div><dt>${term}</dt><dd>${detail}</dd></div>`)}</dl>`

/** Numbered steps. */
export const Steps = ({ items }: { items: { title: string; body: Content; done?: boolean }[] }): View => html`
  <ol class="steps">${items.map(
    ({ title, body, done }) =>
      html`<li class=${done ? 'done' : undefined}><${Heading}>${title}${done && html`<span class="visually-hidden"> (done)</span>`}<//><div>${body}</div></li>`,
  )}</ol>`
