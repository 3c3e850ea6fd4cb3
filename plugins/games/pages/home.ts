import type { FastifyInstance } from 'fastify'
import { Button, EmptyState, Grid, Hero, html, Search, Section, type View } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { aboutGame, type CardFacts, cardOf, gameCard } from './card.ts'

export interface HomeProps {
  newest: Game[]
  popular: Game[]
  /** The games of the signed-in player. */
  mine: Game[]
  /** Public games with players in rooms, in descending order of players. */
  busy: Game[]
  facts: CardFacts
  /** Whether there are games beyond the newest. */
  more: boolean
}

/** Renders the start page: an introduction, the viewer's own games, popular games and new games. */
export function home(
  app: Pick<FastifyInstance, 'games' | 'site'>,
  { newest, popular, mine, busy, facts, more }: HomeProps,
): View {
  const feature = busy[0] ?? (popular[0]?.stats.plays ? popular[0] : newest[0])
  const card = (game: Game) => gameCard(game, facts)
  // The row of played games appears once there are more games than fit into the row.
  const played = more ? popular.filter(({ stats }) => stats.plays > 0) : []
  return html`
    <${Hero} title=${html`Your yard.<br />Your games.<br />Everyone in.`}
      lede="Publish a build and it is playable, signed in and multiplayer a minute later, on a machine you own."
      actions=${html`<${Button} kind="act" href="/games/new">Publish a game<//>${newest.length > 0 && html`<${Button} href="/catalog">Play something<//>`}`}
      feature=${feature && { ...cardOf(feature, facts), meta: aboutGame(feature) ?? 'New in the yard' }} />
    ${
      busy.length > 1 &&
      html`<${Section} title="Played right now" id="now">
        <${Grid}>${busy.slice(0, 4).map(card)}<//>
      <//>`
    }
    ${
      mine.length > 0 &&
      html`<${Section} title="My games" id="mine" action=${html`<a href="/games">See all of mine</a>`}>
        <${Grid}>${mine.map(card)}<//>
      <//>`
    }
    ${
      played.length > 0 &&
      html`<${Section} title="Most played" id="popular" action=${html`<a href="/catalog?sort=popular">See all of them</a>`}>
        <${Grid}>${played.map(card)}<//>
      <//>`
    }
    <${Section} title="New in the yard" id="games" action=${newest.length > 0 && html`<${Search} action="/catalog" label="Search games" />`}>
      ${
        newest.length > 0
          ? html`<${Grid}>${newest.map(card)}<//>`
          : html`<${EmptyState} title="No games yet"><p>${app.site.name} is empty. Create a game here${app.games.dashboard.newGame.map(({ label, href }) => html`, <a href=${href}>${label.toLowerCase()}</a>`)}, or upload a folder with an <code>index.html</code>. Then send your friends its address.</p><//>`
      }
      ${more && html`<div class="row"><${Button} href="/catalog">All games<//></div>`}
    <//>`
}
