import { coverSvg } from './covers/covers.ts'
import { type Content, classes, html, type View } from './html.ts'
import { Icon } from './icons.ts'
import { Chip } from './messages.ts'

export interface Column<Row> {
  /** Heading; for a column of actions, what they are ("Actions"), hidden from view with `action`. */
  label: string
  cell: (row: Row) => Content
  /** `end` for numbers. */
  align?: 'start' | 'end'
  /** The column that names the row: a row heading, and the title of the item on a phone. Default: the first. */
  primary?: boolean
  /** Holds buttons or links: heading hidden, aligned to the end. */
  action?: boolean
}

export interface TableProps<Row> {
  /** The name of the rows, for screen readers: "Deploys of Rooftop Relay". */
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  /** Shown instead when there are no rows; an `EmptyState`. */
  empty?: Content
}

/**
 * Rows of one kind of item. On a phone each row becomes an item of a list, with its cells labelled by their headings.
 * The roles are written out because a browser drops the semantics of a table whose cells are no longer laid out as
 * cells.
 */
export function Table<Row>({ caption, columns, rows, empty }: TableProps<Row>): View {
  if (rows.length === 0 && empty) return html`<div class="card">${empty}</div>`
  const primary = Math.max(
    0,
    columns.findIndex((column) => column.primary),
  )
  const place = (column: Column<Row>) => classes(column.align === 'end' && 'end', column.action && 'action')
  return html`
    <div class="card flush">
      <table class="table" role="table">
        <caption class="visually-hidden">${caption}</caption>
        <thead role="rowgroup"><tr role="row">${columns.map(
          (column) =>
            html`<th role="columnheader" scope="col" class=${place(column)}>${column.action ? html`<span class="visually-hidden">${column.label}</span>` : column.label}</th>`,
        )}</tr></thead>
        <tbody role="rowgroup">${rows.map(
          (row) =>
            html`<tr role="row">${columns.map((column, index) =>
              index === primary
                ? html`<th role="rowheader" scope="row" class=${place(column)}>${column.cell(row)}</th>`
                : html`<td role="cell" class=${place(column)} data-label=${column.action ? undefined : column.label}>${column.cell(row)}</td>`,
            )}</tr>`,
        )}</tbody>
      </table>
    </div>`
}

export interface PaginationProps {
  /** Address of the next page, or nothing on the last. */
  next?: string | null | undefined
  /** Address of the first page, when this is not it. */
  first?: string | null | undefined
  /** The name of the list, for screen readers: "Deploys". */
  label: string
}

/** The way through a list that is read by cursor: back to the start, on to the next. */
export const Pagination = ({ next, first, label }: PaginationProps): View | null =>
  next || first
    ? html`<nav class="pagination" aria-label=${`Pages of ${label}`}>
        ${first ? html`<a class="button" href=${first}><${Icon} name="previous" />First page</a>` : html`<span></span>`}
        ${next && html`<a class="button" href=${next} rel="next">Next page<${Icon} name="next" /></a>`}
      </nav>`
    : null

export interface AvatarProps {
  name: string
  imageUrl?: string | null | undefined
  size?: 's' | 'm' | 'l'
}

const hues = 6

/** A person: their picture, or their initials on a colour that stays theirs. Decoration: the name must stand beside it. */
export function Avatar({ name, imageUrl, size = 'm' }: AvatarProps): View {
  if (imageUrl)
    return html`<img class=${classes('avatar', size)} src=${imageUrl} alt="" loading="lazy" decoding="async" />`
  const words = name.trim().split(/\s+/)
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]?.slice(0, 2)]
  const initials = letters.map((word) => (words.length > 1 ? [...(word ?? '')][0] : word)).join('')
  const hue = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % hues
  return html`<span class=${classes('avatar', size, `hue-${hue}`)} aria-hidden="true">${initials.toUpperCase()}</span>`
}

/** Several people, overlapping, at most five and how many more; names them for screen readers. */
export const AvatarGroup = ({ people }: { people: { name: string; imageUrl?: string | null }[] }): View => html`
  <span class="faces" role="img" aria-label=${people.map((person) => person.name).join(', ')}>
    ${people.slice(0, 5).map((person) => html`<${Avatar} ...${person} size="s" />`)}
    ${people.length > 5 && html`<span class="avatar s more" aria-hidden="true">+${people.length - 5}</span>`}
  </span>`

export interface CoverProps {
  id: string
  title: string
  coverUrl?: string | null | undefined
}

/** A game's cover, 4:3: its own picture, or one drawn from its title. Decoration: the title must stand beside it. */
export const Cover = ({ id, title, coverUrl }: CoverProps): View =>
  coverUrl
    ? html`<span class="cover"><img src=${coverUrl} alt="" loading="lazy" decoding="async" /></span>`
    : html`<span class="cover" dangerouslySetInnerHTML=${{ __html: coverSvg(id, title) }}></span>`

export interface GameCardProps {
  game: CoverProps
  href: string
  /** A line under the title: "physics · 1–4 players". */
  meta?: Content
  /** How many play it right now; nothing is shown for none. */
  playing?: number
}

/** A game in the catalog: one link, cover first. */
export const GameCard = ({ game, href, meta, playing }: GameCardProps): View => html`
  <a class="game" href=${href}>
    <${Cover} ...${game} />
    <span class="game-title"><bdi>${game.title}</bdi></span>
    ${meta && html`<span class="game-meta">${meta}</span>`}
    ${playing ? html`<${Chip} live>${playing} playing<//>` : null}
  </a>`

export interface PlayFrameProps {
  /** Address at the game's own origin; the route's policy must allow to frame it (`extendPolicy`). */
  src: string
  /** The game's title. */
  title: string
  /** The game asks for SharedArrayBuffer; its play page is served isolated too. */
  isolated?: boolean
  /**
   * Signs the viewer in inside the frame: `ticket` is the path that issues a ticket, which the page's script posts into
   * the frame, and `plain` is the frame's address when scripts are off.
   */
  signIn?: { ticket: string; plain: string } | undefined
}

const granted = 'autoplay; fullscreen; gamepad; clipboard-write; screen-wake-lock; xr-spatial-tracking'

/** A game, running, in a frame that fills the page; for a page rendered `wide`. What follows goes into `PlayFrameDetails`. */
export function PlayFrame({ src, title, isolated, signIn }: PlayFrameProps): View {
  const allow = isolated ? `${granted}; cross-origin-isolated` : granted
  const waiting = html`<p class="play-wait" role="status" hidden data-waiting>Starting <bdi>${title}</bdi>…</p>`
  // The names tell the game's frame what to expect of this page (clients/browser/frame/play-page.ts).
  if (!signIn) {
    return html`<div class="play">${waiting}<iframe src=${src} name="service-visitor" title=${title} allow=${allow}></iframe></div>`
  }
  return html`
    <div class="play" data-ticket=${signIn.ticket} data-src=${src} data-title=${title} data-allow=${allow}>
      ${waiting}<noscript><iframe src=${signIn.plain} title=${title} allow=${allow}></iframe></noscript>
    </div>`
}

/** The content below the game on its play page, at the width of other pages. */
export const PlayFrameDetails = ({ children }: { children?: Content }): View =>
  html`<div class="under-play">${children}</div>`

export interface HeroProps {
  /** The `<h1>`; may hold line breaks. */
  title: Content
  lede: Content
  actions?: Content
  /** A game to show beside it: large cover, who is in it now. */
  feature?: GameCardProps & { people?: { name: string; imageUrl?: string | null }[] }
}

/** The opening of a start page: what this is, what to do, and a game that is being played. */
export const Hero = ({ title, lede, actions, feature }: HeroProps): View => html`
  <section class=${classes('hero', feature && 'featured')}>
    <div><h1>${title}</h1><p class="lede">${lede}</p><div class="row">${actions}</div></div>
    ${
      feature &&
      html`<a class="card flush feature" href=${feature.href}>
        <${Cover} ...${feature.game} />
        <span class="feature-foot">
          <span class="feature-text"><span class="game-title"><bdi>${feature.game.title}</bdi></span>${feature.meta && html`<span class="game-meta">${feature.meta}</span>`}</span>
          ${feature.playing ? html`<${Chip} live>${feature.playing} playing now<//>` : null}
          ${feature.people && feature.people.length > 0 && html`<${AvatarGroup} people=${feature.people} />`}
        </span>
      </a>`
    }
  </section>`
