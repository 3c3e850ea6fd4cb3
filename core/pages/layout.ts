import { type Content, classes, Heading, html, Subsection, type View } from './html.ts'

export interface PageHeaderProps {
  title: string
  /** The way back up: `[{ label: 'Games', href: '/games' }]`. */
  crumbs?: { label: string; href: string }[]
  /** A chip or two beside the title. */
  chips?: Content
  /** A line under the title that says what the page is for. */
  lede?: Content
  /** The public address of what the page is about; wraps on a phone. */
  address?: string | undefined
  /** Buttons, at most one of kind `act`. */
  actions?: Content
}

/** The top of a page: the only `<h1>`. */
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

/** More than three lines of a narrow column. */
const isLong = (lede: Content): boolean => typeof lede === 'string' && lede.length > 140

export interface SectionProps {
  title: string
  id?: string | undefined
  /** A sentence under the heading. */
  description?: Content
  /** A link or button at the end of the heading's line. */
  action?: Content
  /** `side`: heading and description at the left, the content beside it, as settings pages have it. */
  layout?: 'stack' | 'side'
  children?: Content
}

/** A part of a page under an `<h2>`. */
export const Section = ({ title, id, description, action, layout = 'stack', children }: SectionProps): View => html`
  <section class=${classes('section', layout)} id=${id}>
    <div class="section-head"><div><h2>${title}</h2>${description && html`<p>${description}</p>`}</div>${action}</div>
    <div class="section-body"><${Subsection}>${children}<//></div>
  </section>`

export interface CardProps {
  /** A heading, at the level that fits where the card stands. */
  title?: string | undefined
  /** A sentence under the title. */
  description?: Content
  /** A line at the foot, apart from the rest. */
  footer?: Content
  /** No padding of its own: for a table or picture that fills it. */
  flush?: boolean
  children?: Content
}

/** A sheet of paper on the page. */
export const Card = ({ title, description, footer, flush, children }: CardProps): View => html`
  <div class=${classes('card', flush && 'flush')}>
    ${title && html`<div class="card-head"><${Heading}>${title}<//>${description && html`<p>${description}</p>`}</div>`}
    ${title ? html`<${Subsection}>${children}<//>` : children}
    ${footer && html`<div class="card-foot">${footer}</div>`}
  </div>`

/** The content and, where there is room, a narrow column beside it; below it on a phone. */
export const Split = ({ aside, children }: { aside: Content; children?: Content }): View => html`
  <div class="split"><div class="stack">${children}</div><aside class="stack">${aside}</aside></div>`

/** Things below one another with an even distance. */
export const Stack = ({ children }: { children?: Content }): View => html`<div class="stack">${children}</div>`

/** Small things beside one another that wrap where they must: buttons, chips. */
export const Row = ({ children }: { children?: Content }): View => html`<div class="row">${children}</div>`

/** Cards in as many columns as fit. */
export const Grid = ({ children }: { children?: Content }): View => html`<div class="grid">${children}</div>`

/** A quiet line under a card: the other way, the small print. With `ends`, several ways spread over the line. */
export const Note = ({ ends, children }: { ends?: boolean; children?: Content }): View =>
  html`<p class=${classes('note', ends && 'ends')}>${children}</p>`

export interface TabsProps {
  /** The whole that the parts belong to, for screen readers: the game's title. */
  label: string
  tabs: { label: string; href: string }[]
  /** `href` of the open one. */
  current: string
}

/** The pages of one thing, as links. */
export const Tabs = ({ label, tabs, current }: TabsProps): View => html`
  <nav class="tabs" aria-label=${label}><ul>${tabs.map(
    (tab) =>
      html`<li><a href=${tab.href} aria-current=${tab.href === current ? 'page' : undefined}>${tab.label}</a></li>`,
  )}</ul></nav>`

export interface Stat {
  label: string
  /** Numbers are grouped by thousands. */
  value: number | string
  /** Something is alive now: draws the dot. */
  live?: boolean
  /** Name of the part that it is, where a stream keeps it fresh (`data-events`). */
  part?: string | undefined
}

const grouped = new Intl.NumberFormat('en')

/** A few numbers that matter, side by side; two by two on a phone. */
export const Stats = ({ items }: { items: Stat[] }): View => html`
  <dl class="stats">${items.map(
    ({ label, value, live, part }) =>
      html`<div><dt class=${live ? 'live' : undefined}>${label}</dt><dd data-part=${part}>${typeof value === 'number' ? grouped.format(value) : value}</dd></div>`,
  )}</dl>`

/** Names and values of one thing: client id, redirect URI, created. */
export const DescriptionList = ({ items }: { items: { term: string; detail: Content }[] }): View => html`
  <dl class="facts">${items.map(({ term, detail }) => html`<div><dt>${term}</dt><dd>${detail}</dd></div>`)}</dl>`

/** Steps, numbered. */
export const Steps = ({ items }: { items: { title: string; body: Content; done?: boolean }[] }): View => html`
  <ol class="steps">${items.map(
    ({ title, body, done }) =>
      html`<li class=${done ? 'done' : undefined}><${Heading}>${title}${done && html`<span class="visually-hidden"> (done)</span>`}<//><div>${body}</div></li>`,
  )}</ol>`
