import { coverSvg } from './covers/covers.ts'
import { type Content, classes, html, type View } from './html.ts'
import { Icon } from './icons.ts'
import { Chip } from './messages.ts'

export interface Column<Row> {
  /** Heading of the column. A column of actions has one too ("Actions"), which `action` hides visually. */
  label: string
  cell: (row: Row) => Content
  /** Use `end` for numbers. */
  align?: 'start' | 'end'
  /** The column that names the row: a row heading, and on a phone the title of the item. Default: the first column. */
  primary?: boolean
  /** The column contains buttons or links: its heading is hidden, and its content aligned to the end. */
  action?: boolean
}

export interface TableProps<Row> {
  /** Name of the rows for screen readers: "Deploys of Rooftop Relay". */
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  /** Shown when there are no rows; an `EmptyState`. */
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
  /** Address of the next page; absent on the last page. */
  next?: string | null | undefined
  /** Address of the first page; absent on the first page. */
  first?: string | null | undefined
  /** Name of the list for screen readers: "Deploys". */
  label: string
}

/** The navigation of a list with cursors: back to the first page, and on to the next. */
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

/** A person's picture, or their initials on a constant colour. It is decorative, so the name must be next to it. */
export function Avatar({ name, imageUrl, size = 'm' }: AvatarProps): View {
  if (imageUrl)
    return html`<img class=${classes('avatar', size)} src=${imageUrl} alt="" loading="lazy" decoding="async" />`
  const words = name.trim().split(/\s+/)
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]?.slice(0, 2)]
  const initials = letters.map((word) => (words.length > 1 ? [...(word ?? '')][0] : word)).join('')
  const hue = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % hues
  return html`<span class=${classes('avatar', size, `hue-${hue}`)} aria-hidden="true">${initials.toUpperCase()}</span>`
}

/** At most five overlapping avatars and the number of further people. It names them for screen readers. */
export const AvatarGroup = ({ people }: { people: { name: string; imageUrl?: string | null }[] }): View => html`
  <span class="faces" role="img" aria-label=${people.map((person) => person.name).join(', ')}>
    ${people.slice(0, 5).map((person) => html`<${Avatar} ...${person} size="s" />`)}
    ${people.length > 5 && html`<span class="avatar s more" aria-hidden="true">+${people.length - 5}</span>`}
  </span>`

export interface CoverProps {
  id: string
  title: string
  coverUrl?: string | null | undefined
  /** The language of the title, where it is not that of the page. */
  lang?: string | undefined
}

/**
 * A game's cover in 4:3: its own image, or one generated from its title. It is decorative, so the title must be next to
 * it.
 */
export const Cover = ({ id, title, coverUrl }: CoverProps): View =>
  coverUrl
    ? html`<span class="cover"><img src=${coverUrl} alt="" loading="lazy" decoding="async" /></span>`
    : html`<span class="cover" dangerouslySetInnerHTML=${{ __html: coverSvg(id, title) }}></span>`

export interface GameCardProps {
  game: CoverProps
  href: string
  /** Who made it, under the title: "by Ada and Bo". */
  by?: Content
  /** A further line: "physics · 1–4 players". */
  meta?: Content
  /** Number of current players; zero shows nothing. */
  playing?: number
}

/** A game in the catalog as one link, with the cover first. */
export const GameCard = ({ game, href, by, meta, playing }: GameCardProps): View => html`
  <a class="game" href=${href}>
    <${Cover} ...${game} />
    <span class="game-title"><bdi lang=${game.lang}>${game.title}</bdi></span>
    ${by && html`<span class="game-by">${by}</span>`}
    ${meta && html`<span class="game-meta">${meta}</span>`}
    ${playing ? html`<${Chip} live>${playing} playing<//>` : null}
  </a>`

export interface PlayBarProps {
  /** The game's title, the heading of the page. */
  title: string
  /** The language of the title, where it is not that of the page. */
  lang?: string | undefined
  /** Beside the title: the maker, a state. */
  by?: Content
  /** Whether another server has the game, whose keys the platform does not see. */
  elsewhere?: boolean
  /** Links and buttons. */
  children?: Content
}

/** The line above a running game: title, full screen, and a link past the frame, for people who do not want to enter it. */
export const PlayBar = ({ title, lang, by, elsewhere, children }: PlayBarProps): View => html`
  <header class="play-bar">
    <div class="play-name"><h1><bdi lang=${lang}>${title}</bdi></h1>${by && html`<p>${by}</p>`}</div>
    <p class="play-hint" id="play-keys">${
      elsewhere
        ? html`If the game keeps all keys, <kbd>F6</kbd> leaves it.`
        : html`Press <kbd>Esc</kbd> three times to leave the game.`
    }</p>
    <button class="button small act" type="button" hidden data-full-screen>Full screen</button>
    <a class="button small" href="#about-game" data-past-game>About</a>
    ${children}
  </header>`

export interface PlayFrameProps {
  /** Address at the game's own origin. The policy of the route must allow framing it (`extendPolicy`). */
  src: string
  /** The game, whose title names the frame. */
  game: CoverProps
  /** Whether the game uses SharedArrayBuffer; its play page is then cross-origin isolated too. */
  isolated?: boolean
  /** Whether another server has the game. It gets the keyboard when the player gives it, because it may keep it. */
  elsewhere?: boolean
  /**
   * Signs the viewer in inside the frame: `ticket` is the path that issues a ticket, which the page's script posts into
   * the frame, and `plain` is the address of the frame without scripts.
   */
  signIn?: { ticket: string; plain: string } | undefined
  /** Whether the frame opens only when the button of a cover is pressed. */
  covered?: boolean
  /** The game's own address: for a page without scripts, and for browsers that deny storage to frames. */
  alone: string
}

/** What a game may use, or may ask the player for: the browser still asks before it gives microphone, camera or MIDI. */
const granted = [
  'autoplay',
  'fullscreen',
  'gamepad',
  'keyboard-map',
  'clipboard-write',
  'web-share',
  'screen-wake-lock',
  'xr-spatial-tracking',
  'accelerometer',
  'gyroscope',
  'magnetometer',
  'microphone',
  'camera',
  'midi',
].join('; ')

/**
 * A running game in a frame that fills the page, for a page rendered `wide`. Content below it goes into
 * `PlayFrameDetails`.
 */
export function PlayFrame({ src, game, isolated, elsewhere, signIn, covered = false, alone }: PlayFrameProps): View {
  const { title, lang } = game
  const allow = isolated ? `${granted}; cross-origin-isolated` : granted
  const waiting = html`<p class="play-wait" role="status" hidden data-waiting><span>Starting <bdi lang=${lang}>${title}</bdi>…</span></p>`
  // For browsers without a full screen of their own, such as those of iPhones.
  const exit = html`<button class="button small play-exit" type="button" data-exit-full-screen>Exit full screen</button>`
  const note = html`<p class="play-note" role="status" hidden data-no-storage>Your browser lets games keep nothing on this page, such as progress. <a href=${alone}>Open it on its own</a></p>`
  // The name of the frame tells the game which messages this page sends (clients/browser/frame/play-page.ts).
  if (!signIn && !covered) {
    return html`<div class="play" data-elsewhere=${elsewhere || undefined}>${exit}${note}${waiting}<iframe src=${src} name="service-visitor" title=${title} lang=${lang} allow=${allow} aria-describedby="play-keys"></iframe></div>`
  }
  return html`
    <div class="play" data-ticket=${signIn?.ticket} data-src=${src} data-title=${title} data-lang=${lang} data-allow=${allow}>
      ${exit}${note}${waiting}
      ${
        !covered
          ? signIn &&
            html`<noscript><iframe src=${signIn.plain} title=${title} lang=${lang} allow=${allow}></iframe></noscript>`
          : html`<div class="play-cover" data-cover>
              <${Cover} ...${game} />
              <button class="button act" type="button" hidden data-start>Start <bdi lang=${lang}>${title}</bdi></button>
              <noscript><a class="button act" href=${alone}>Open <bdi lang=${lang}>${title}</bdi> on its own</a></noscript>
            </div>`
      }
    </div>`
}

/** The content below the game on its play page, at the width of other pages. */
export const PlayFrameDetails = ({ children }: { children?: Content }): View =>
  html`<div class="under-play" id="about-game" tabindex="-1">${children}</div>`

export interface HeroProps {
  /** The `<h1>`, which may contain line breaks. */
  title: Content
  lede: Content
  actions?: Content
  /** A game to show next to the title, with a large cover and its current players. */
  feature?: GameCardProps & { people?: { name: string; imageUrl?: string | null }[] }
}

/** The head of a start page: a title, a description, actions, and a featured game. */
export const Hero = ({ title, lede, actions, feature }: HeroProps): View => html`
  <section class=${classes('hero', feature && 'featured')}>
    <div><h1>${title}</h1><p class="lede">${lede}</p><div class="row">${actions}</div></div>
    ${
      feature &&
      html`<a class="card flush feature" href=${feature.href}>
        <${Cover} ...${feature.game} />
        <span class="feature-foot">
          <span class="feature-text"><span class="game-title"><bdi lang=${feature.game.lang}>${feature.game.title}</bdi></span>${feature.by && html`<span class="game-by">${feature.by}</span>`}${feature.meta && html`<span class="game-meta">${feature.meta}</span>`}</span>
          ${feature.playing ? html`<${Chip} live>${feature.playing} playing now<//>` : null}
          ${feature.people && feature.people.length > 0 && html`<${AvatarGroup} people=${feature.people} />`}
        </span>
      </a>`
    }
  </section>`
