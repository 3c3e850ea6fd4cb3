import type { TagCount } from '../../../core/data/tag-counts.ts'
import { EmptyState, Grid, html, PageHeader, Pagination, Search, type View } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { gameCard } from './card.ts'

export interface CatalogProps {
  games: Game[]
  nextCursor: string | null
  tags: TagCount[]
  /** The number of players in rooms, by game. */
  playing: ReadonlyMap<string, number>
  query: { q?: string; tag?: string; sort: 'new' | 'popular'; cursor?: string }
}

/** Renders the playable games with search, sort order, and a filter by tag. */
export function catalog({ games, nextCursor, tags, playing, query }: CatalogProps): View {
  const { q, tag, sort, cursor } = query
  const address = (changes: Partial<Record<keyof CatalogProps['query'], string | undefined>>) => {
    const asked = { q, tag, sort: sort === 'new' ? undefined : sort, ...changes }
    const entries = Object.entries(asked).filter((entry): entry is [string, string] => Boolean(entry[1]))
    return `/catalog${entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''}`
  }
  // A rare tag is not in the usual list, but is added to show the current filter.
  const shown = tag && !tags.some((known) => known.tag === tag) ? [{ tag, count: games.length }, ...tags] : tags
  const link = (label: string, href: string, current: boolean) =>
    html`<li><a href=${href} aria-current=${current ? 'true' : undefined}>${label}</a></li>`
  return html`
    <${PageHeader} title=${q ? `Games that match “${q}”` : tag ? `Games tagged ${tag}` : 'All games'} />
    ${
      (games.length > 0 || q || tag || cursor) &&
      html`<div class="browse">
      <div class="browse-line">
        <${Search} action="/catalog" label="Search games" value=${q} />
        <nav aria-label="Order"><ul class="tags">
          ${link('Newest', address({ sort: undefined }), sort === 'new')}
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
    </div>`
    }
    ${
      games.length > 0
        ? html`<${Grid}>${games.map((game) => gameCard(game, playing))}<//>`
        : html`<${EmptyState} title=${q || tag ? 'No game matches' : 'No games yet'} action=${q || tag ? undefined : { href: '/games/new', label: 'Publish the first' }}>
            <p>${q || tag ? html`Try the beginning of a word of its title, or <a href="/catalog">see all games</a>.` : html`A folder with an <code>index.html</code> is all that a game needs.`}</p>
          <//>`
    }
    <${Pagination} label="Games" next=${nextCursor && address({ cursor: nextCursor })} first=${cursor && address({})} />`
}
