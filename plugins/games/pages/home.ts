import type { FastifyInstance } from 'fastify'
import {
  Button,
  EmptyState,
  GameCard,
  Grid,
  Hero,
  html,
  PageHeader,
  Pagination,
  Search,
  Section,
  type View,
} from '../../../core/pages.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

const card = (game: Game): View =>
  html`<${GameCard} game=${game} href=${pathOf(game)} meta=${game.tags.slice(0, 3).join(' · ') || null} />`

export interface HomeProps {
  games: Game[]
  nextCursor: string | null
  /** Of whoever is signed in. */
  mine: Game[]
  query: { q?: string | undefined; tag?: string | undefined; cursor?: string | undefined }
}

/** The start page: what this place is, one's own games, and what is new. */
export function home(app: Pick<FastifyInstance, 'site'>, { games, nextCursor, mine, query }: HomeProps): View {
  const { q, tag, cursor } = query
  const searching = Boolean(q || tag)
  const opening = !searching && !cursor
  const [feature] = opening ? games : []
  const address = (changes: Record<string, string | undefined>) => {
    const entries = Object.entries({ q, tag, ...changes }).filter((entry): entry is [string, string] =>
      Boolean(entry[1]),
    )
    return `/${entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''}`
  }
  const title = q ? `Games that match “${q}”` : tag ? `Games tagged ${tag}` : 'More games'
  const search = html`<${Search} action="/" label="Search games" value=${q} />`
  const none = searching
    ? html`<${EmptyState} title="No game matches"><p>Try the beginning of a word of its title, or <a href="/">see what is new</a>.</p><//>`
    : html`<${EmptyState} title="No games yet" action=${{ href: '/games/new', label: 'Publish the first' }}><p>${app.site.name} is empty. A folder with an <code>index.html</code> is all that a game needs.</p><//>`
  const list = html`
    ${games.length > 0 ? html`<${Grid}>${games.map(card)}<//>` : none}
    <${Pagination} label="Games" next=${nextCursor && address({ cursor: nextCursor })} first=${cursor && address({})} />`
  return html`
    ${
      opening &&
      html`<${Hero} title=${html`Your yard.<br />Your games.<br />Everyone in.`}
        lede="Publish a build and it is playable, signed in and multiplayer a minute later, on a machine you own."
        actions=${html`<${Button} kind="act" href="/games/new">Publish a game<//>${games.length > 0 && html`<${Button} href="#games">Play something<//>`}`}
        feature=${feature && { game: feature, href: pathOf(feature), meta: feature.tags.slice(0, 3).join(' · ') || 'New in the yard' }} />`
    }
    ${
      opening &&
      mine.length > 0 &&
      html`<${Section} title="My games" id="mine" action=${html`<a href="/games">all of mine</a>`}>
        <${Grid}>${mine.map(card)}<//>
      <//>`
    }
    ${
      opening
        ? html`<${Section} title="New in the yard" id="games" action=${search}>${list}<//>`
        : html`<${PageHeader} title=${title} crumbs=${[{ label: 'Games', href: '/' }]} actions=${search} />${list}`
    }`
}
