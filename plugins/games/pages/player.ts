import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Avatar,
  Button,
  EmptyState,
  Grid,
  html,
  Pagination,
  renderPage,
  ThingLinks,
  type View,
} from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { type CardFacts, cardFacts, gameCard, onlyTeams } from './card.ts'

const constraints = { origin: 'portal' } as const
const PER_PAGE = 24

/** Returns the path of a player's page. Only the id in it is personal. */
export const playerPath = (playerId: string): string => `/players/${playerId}`

/** A player's public page: picture, name and public games. It contains nothing else. */
export const playerPages: Routes = async (app) => {
  app.get('/players/me', { config: { auth: 'session', page: true }, constraints }, async (request, reply) => {
    const player = await app.identity.players.find(callerOf(request).playerId)
    return reply.redirect(player && !player.isGuest ? playerPath(player.id) : '/settings', 303)
  })

  app.get(
    '/players/:id',
    {
      config: { auth: 'optional', page: true },
      constraints,
      schema: {
        params: Type.Object({ id: Type.String({ maxLength: 40 }) }),
        querystring: Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 200 })) }),
      },
    },
    async (request, reply) => {
      const viewer = request.principal?.viewer ?? null
      const { cursor } = request.query
      const player = await app.identity.players.find(request.params.id)
      // Guests have no page, and a disabled player is hidden. The response is the same as for an unknown player.
      if (!player || player.disabled || player.isGuest) throw new NotFound('player')
      const [page, sums] = await Promise.all([
        app.games.catalog.ofMaker(player.id, { limit: PER_PAGE, ...(cursor ? { cursor } : {}) }),
        app.games.catalog.sumsOfMaker(player.id),
      ])
      const facts = onlyTeams(await cardFacts(app, page.shown))
      const isSelf = viewer?.id === player.id
      return renderPage(reply, {
        title: player.name,
        description: sums.games > 0 ? `Games by ${player.name}.` : undefined,
        user: viewer,
        share: { path: playerPath(player.id) },
        // Search engines must not index a page that contains only a name.
        head: sums.games === 0 && html`<meta name="robots" content="noindex" />`,
        body: playerPage(app, { ...page, ...sums, player, isSelf, facts, cursor }),
      })
    },
  )
}

interface PlayerProps {
  player: { id: string; name: string; imageUrl: string }
  /** The number of public games. */
  games: number
  plays: number
  /** One page of these games. */
  shown: Game[]
  nextCursor: string | null
  cursor: string | undefined
  facts: CardFacts
  isSelf: boolean
}

function playerPage({ origins, site }: Pick<FastifyInstance, 'origins' | 'site'>, props: PlayerProps): View {
  const { player, games, shown, plays, facts, isSelf, nextCursor, cursor } = props
  const path = playerPath(player.id)
  const about = [
    games > 0 ? `${number.format(games)} ${games === 1 ? 'game' : 'games'}` : 'No public games yet',
    ...(plays > 0 ? [`${number.format(plays)} ${plays === 1 ? 'play' : 'plays'}`] : []),
  ]
  return html`
    <header class="page-header profile">
      <${Avatar} name=${player.name} imageUrl=${player.imageUrl.slice(origins.portal.length)} size="l" />
      <div class="page-header-text"><h1><bdi>${player.name}</bdi></h1><p class="lede">${about.join(' · ')}</p></div>
      ${isSelf && html`<div class="actions"><${Button} href="/settings">Edit profile<//></div>`}
    </header>
    ${
      shown.length > 0
        ? html`<${Grid}>${shown.map((game) => gameCard(game, facts))}<//>`
        : isSelf
          ? html`<${EmptyState} title="Your games will appear here" action=${{ href: '/games/new', label: 'Publish a game' }}>
              <p>Everybody sees this page: your picture, your name, and your published games.</p><//>`
          : html`<${EmptyState} title="Nothing to play yet" action=${{ href: '/catalog', label: 'See all games' }}><p>Games that they publish will appear here.</p><//>`
    }
    <${Pagination} label="Games" next=${nextCursor && `${path}?cursor=${nextCursor}`} first=${cursor && path} />
    ${!isSelf && html`<${ThingLinks} site=${site} kind="player" id=${player.id} />`}`
}

const number = new Intl.NumberFormat('en', { notation: 'compact' })
