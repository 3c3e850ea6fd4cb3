import type { TagCount } from '../../../core/data/tag-counts.ts'
import { EmptyState, Grid, html, PageHeader, Pagination, Search, type View } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { type CardFacts, gameCard } from './card.ts'
import { activeFilters, type CatalogList, catalogAddress, catalogFilter, parametersOf } from './catalog-filter.ts'

export interface CatalogProps {
  games: Game[]
  nextCursor: string | null
  tags: TagCount[]
  /** The languages of games. */
  languages: TagCount[]
  facts: CardFacts
  query: CatalogList
}

/** Returns the title of a list: what it is restricted to. */
export const catalogTitle = (list: CatalogList): string =>
  list.q
    ? `Games that match “${list.q}”${list.tag ? `, tagged ${list.tag}` : ''}`
    : list.tag
      ? `Games tagged ${list.tag}`
      : activeFilters(list).length > 0
        ? 'Filtered games'
        : 'All games'

/** Renders the playable games with search, sort order, and filters by tag and by features. */
export function catalog({ games, nextCursor, tags, languages, facts, query }: CatalogProps): View {
  const { q, tag, sort, cursor, ...filter } = query
  const list = { q, tag, sort, ...filter }
  const address = (changes: CatalogList) => catalogAddress({ ...list, ...changes })
  const restricted = Boolean(q || tag) || activeFilters(filter).length > 0
  // A rare tag is not in the usual list, but is added to show the current filter.
  const shown = tag && !tags.some((known) => known.tag === tag) ? [{ tag, count: games.length }, ...tags] : tags
  const link = (label: string, href: string, current: boolean) =>
    html`<li><a href=${href} aria-current=${current ? 'true' : undefined}>${label}</a></li>`
  return html`
    <${PageHeader} title=${catalogTitle(query)} />
    ${
      (games.length > 0 || restricted || cursor) &&
      html`<div class="browse">
      <div class="browse-line">
        <${Search} action="/catalog" label="Search games" value=${q} kept=${parametersOf({ tag, sort, ...filter })} />
        <nav aria-label="Order"><ul class="tags">
          ${link('Newest', address({ sort: undefined }), sort !== 'popular')}
          ${link('Most played', address({ sort: 'popular' }), sort === 'popular')}
        </ul></nav>
      </div>
      ${
        shown.length > 0 &&
        html`<nav aria-label="Tags"><ul class="tags">
          ${link('Everything', address({ tag: undefined }), !tag)}
          ${shown.map((known) => html`<li><a href=${address({ tag: known.tag })} aria-current=${known.tag === tag ? 'true' : undefined}>${known.tag}<span>${known.count}</span></a></li>`)}
        </ul></nav>`
      }
      ${catalogFilter(list, languages)}
    </div>`
    }
    ${
      games.length > 0
        ? html`<${Grid}>${games.map((game) => gameCard(game, facts))}<//>`
        : html`<${EmptyState} title=${restricted ? 'No game matches' : 'No games yet'} action=${restricted ? undefined : { href: '/games/new', label: 'Publish the first' }}>
            <p>${restricted ? advice(query) : html`A folder with an <code>index.html</code> is all that a game needs.`}</p>
          <//>`
    }
    <${Pagination} label="Games" next=${nextCursor && address({ cursor: nextCursor })} first=${cursor && address({})} />`
}

const advice = (list: CatalogList): View =>
  list.q && list.tag
    ? html`<a href=${catalogAddress({ ...list, tag: undefined, cursor: undefined })}>Search in all tags</a>, or <a href="/catalog">see all games</a>.`
    : activeFilters(list).length > 0
      ? html`A filter shows only games whose makers state the feature. Remove a filter, or <a href="/catalog">see all games</a>.`
      : html`Try the beginning of a word of its title, or <a href="/catalog">see all games</a>.`
