import type { Origins } from '../../core/origins/origins.ts'
import { Button, type Content, EmptyState, html, Icon, PageHeader, Search, type View } from '../../core/pages/index.ts'
import type { Guide } from './guides.ts'
import { fillIn, type ReaderGame } from './placeholders.ts'
import type { Found } from './search.ts'

type Groups = { title: string; guides: Guide[] }[]

/** The kernel documents each route's input and output below `/docs/api`. */
const REFERENCE = '/docs/api'

/** The overview page: all guides in their groups, or the results of a search. */
export const overviewPage = (groups: Groups, query: string, found: Found[] | null): View => html`
  <${PageHeader} title="Guides" lede="The guides begin with an empty folder, and end with a multiplayer game on a platform of your own."
    actions=${html`<${Button} href=${REFERENCE}>API reference<//>`} />
  <${SearchField} query=${query} wide />
  ${found ? results(found, query) : groups.map(groupView)}`

const groupView = ({ title, guides }: Groups[number], index: number): View => html`
  <section class="guide-group" aria-labelledby=${`group-${index}`}>
    <h2 id=${`group-${index}`}>${title}</h2>
    <ul class="guide-cards">${guides.map(
      (guide) =>
        html`<li><a href=${`/docs/${guide.name}`}><strong>${guide.title}</strong><span>${guide.summary}</span></a></li>`,
    )}</ul>
  </section>`

const results = (found: Found[], query: string): View =>
  found.length === 0
    ? html`<${EmptyState} title=${`Nothing about “${query}”`} action=${{ href: '/docs', label: 'All guides' }}>
        <p>Fewer or shorter words find more. Names of routes and fields are in the <a href=${REFERENCE}>API reference</a>.</p>
      <//>`
    : html`<section class="guide-results" aria-label="Results">
        <p class="soft">${found.length === 1 ? 'One section' : `${found.length} sections`} with “${query}”. <a href="/docs">All guides</a></p>
        <ul>${found.map(
          ({ href, guide, heading, excerpt }) => html`
            <li><a href=${href}><strong>${heading}</strong>${heading !== guide && html`<span class="guide-of">${guide}</span>`}</a>
              <p>${marked(excerpt)}</p></li>`,
        )}</ul>
      </section>`

const marked = (pieces: string[]): Content =>
  pieces.map((piece, index) => (index % 2 === 1 ? html`<mark>${piece}</mark>` : piece))

/** The search form works without a script. plugins/docs/islands/guide-search.ts shows results during typing. */
const SearchField = ({ query, wide }: { query?: string; wide?: boolean }): View => html`
  <div class=${wide ? 'guide-search wide' : 'guide-search'} data-guide-search>
    <${Search} action="/docs" label="Search the guides" value=${query} />
  </div>`

export interface GuidePageProps {
  guide: Guide
  previous: Guide | null
  next: Guide | null
  groups: Groups
  /** The reader's games, for the selection. */
  games: ReaderGame[]
  /** The game that the snippets use. */
  game: ReaderGame | null
  origins: Pick<Origins, 'portal' | 'game' | 'byPort'>
}

/** Guides that make a game of their own, so that another game of the reader would lead astray. */
const MAKES_A_GAME = ['quick-start']

/** Renders one guide, with links to the others and to its own sections. */
export function guidePage(props: GuidePageProps): View {
  const { guide, previous, next, groups, games, origins } = props
  const game = MAKES_A_GAME.includes(guide.name) ? null : props.game
  const list = guideList(groups, guide)
  const contents = html`<ul>${guide.headings.map(
    ({ id, text, level }) => html`<li class=${level === 3 ? 'deep' : undefined}><a href=${`#${id}`}>${text}</a></li>`,
  )}</ul>`
  return html`
    <div class="guide">
      <div class="guide-side">
        <${SearchField} />
        <nav class="guide-nav" aria-label="Guides">${list}</nav>
        <details class="guide-fold"><summary class="button">All guides</summary><nav aria-label="Guides">${list}</nav></details>
      </div>
      <article class="guide-text">
        <h1>${guide.title}</h1>
        ${guide.lede && html`<div class="guide-lede" dangerouslySetInnerHTML=${{ __html: fillIn(guide.lede, origins, game) }}></div>`}
        ${guide.headings.length > 0 && html`<details class="guide-fold"><summary class="button">On this page</summary><nav aria-label="On this page">${contents}</nav></details>`}
        ${chooser(guide, games, game)}
        <div class="prose" dangerouslySetInnerHTML=${{ __html: fillIn(guide.html, origins, game) }}></div>
        ${turn(previous, next)}
      </article>
      ${guide.headings.length > 0 && html`<nav class="guide-contents" aria-labelledby="on-this-page"><p id="on-this-page">On this page</p>${contents}</nav>`}
    </div>`
}

const guideList = (groups: Groups, open: Guide): View => html`
  <ul>${groups.map(
    ({ title, guides }) => html`
      <li><span class="guide-nav-title">${title}</span>
        <ul>${guides.map(
          ({ name, title }) =>
            html`<li><a href=${`/docs/${name}`} aria-current=${name === open.name ? 'page' : undefined}>${title}</a></li>`,
        )}</ul>
      </li>`,
  )}
    <li><span class="guide-nav-title">Reference</span><ul><li><a href=${REFERENCE}>HTTP API</a></li></ul></li>
  </ul>`

/** Shows which game the snippets use, if they contain a game's name. */
function chooser(guide: Guide, games: ReaderGame[], game: ReaderGame | null): Content {
  if (!game || !/my-game|YOUR_CLIENT_ID/.test(guide.lede + guide.html)) return null
  if (games.length === 1)
    return html`<p class="guide-filled">Filled in for your game <strong>${game.title}</strong>.</p>`
  return html`
    <form class="guide-filled" method="get" action=${`/docs/${guide.name}`}>
      <label for="guide-game">Filled in for your game</label>
      <span class="select"><select class="control" id="guide-game" name="game">${games.map(
        ({ slug, title }) => html`<option value=${slug} selected=${slug === game.slug}>${title}</option>`,
      )}</select><${Icon} name="chevron" /></span>
      <${Button} small>Change<//>
    </form>`
}

const turn = (previous: Guide | null, next: Guide | null): View => html`
  <nav class="guide-turn" aria-label="Before and after">
    ${previous && html`<a class="previous" rel="prev" href=${`/docs/${previous.name}`}><span>Before</span><strong>${previous.title}</strong></a>`}
    ${next && html`<a class="next" rel="next" href=${`/docs/${next.name}`}><span>Next</span><strong>${next.title}</strong></a>`}
  </nav>`
