import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { adminPage, callerOf } from '../../../core/auth.ts'
import {
  AtOnce,
  Button,
  EmptyState,
  Form,
  html,
  PageHeader,
  Pagination,
  renderPage,
  Search,
  Stack,
  Table,
  type View,
  When,
} from '../../../core/pages.ts'
import type { Routes } from '../../../core/routes.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { stateChips } from './dashboard.ts'

const PER_PAGE = 25
const STEPS = { 'take-off': false, 'put-back': true } as const

/** For whoever runs the server: every game, and the switch that takes one off the air. */
export const hostPages: Routes = async (app) => {
  const { administration } = app.games
  const Query = Type.Object({
    q: Type.Optional(Type.String({ maxLength: 100 })),
    cursor: Type.Optional(Type.String({ maxLength: 40 })),
    done: Type.Optional(Type.String({ maxLength: 10 })),
    game: Type.Optional(Type.String({ maxLength: 40 })),
  })

  app.get('/admin/games', { ...adminPage, schema: { querystring: Query } }, async (request, reply) => {
    const { q, cursor, done, game: id } = request.query
    const [{ games, nextCursor }, changed] = await Promise.all([
      administration.list({ q, limit: PER_PAGE, ...(cursor ? { cursor } : {}) }),
      done && id ? app.games.byId(id) : null,
    ])
    const owners = await app.identity.players.namesOf([...new Set(games.map(({ ownerId }) => ownerId))])
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Games',
      current: '/admin/games',
      user: callerOf(request).viewer,
      flash: changed ? { message: told(changed) } : null,
      body: gamesPage({ games, owners, nextCursor, q, paged: cursor !== undefined }),
    })
  })

  for (const [step, playable] of Object.entries(STEPS)) {
    app.post(
      `/admin/games/:id/${step}`,
      { ...adminPage, schema: { params: Type.Object({ id: Type.String({ maxLength: 40 }) }) } },
      async (request, reply) => {
        const game = await administration.setPlayable(request.params.id, playable)
        request.log.info({ step, game: game.id, by: callerOf(request).playerId }, 'an administrator changed a game')
        return reply.redirect(`/admin/games?done=${step}&game=${game.id}`, 303)
      },
    )
  }
}

/** What the last step did, with the way back. */
const told = (game: Game): View => html`
  ${game.playable ? 'On the air again' : 'Off the air'}: <bdi>${game.title}</bdi>.
  <${Form} action=${switchOf(game)} atOnce=${game.id} inline><${Button} small>Undo<//><//>`

/** Where the form goes that changes it. */
const switchOf = ({ id, playable }: Game): string => `/admin/games/${id}/${playable ? 'take-off' : 'put-back'}`

const stateOf = (game: Game): View => html`<span class="row">${stateChips(game, isReady(game))}</span>`

const switchForm = (game: Game): View => html`
  <${Form} action=${switchOf(game)} atOnce=${game.id}>
    <${Button} small label=${`${game.playable ? 'Take off the air' : 'Put back on the air'}: ${game.title}`}>${game.playable ? 'Take off the air' : 'Put back'}<//>
  <//>`

/** A cell that changes with the switch. */
const switched = (game: Game, show: (game: Game) => View): View => html`
  <${AtOnce} name=${game.id} then=${show({ ...game, playable: !game.playable })}>${show(game)}<//>`

interface GamesPageProps {
  games: Game[]
  /** Names, by id. */
  owners: ReadonlyMap<string, string>
  nextCursor: string | null
  q: string | undefined
  paged: boolean
}

function gamesPage({ games, owners, nextCursor, q, paged }: GamesPageProps): View {
  const search = q ? `q=${encodeURIComponent(q)}&` : ''
  const columns = [
    {
      label: 'Game',
      cell: (game: Game) =>
        html`<a href=${pathOf(game)}><bdi>${game.title}</bdi></a><br /><code class="soft">${game.slug}</code>`,
    },
    {
      label: 'State',
      cell: (game: Game) => switched(game, stateOf),
    },
    {
      label: 'Owner',
      cell: (game: Game) =>
        html`<a href=${`/admin/players/${game.ownerId}`}><bdi>${owners.get(game.ownerId) ?? game.ownerId}</bdi></a>`,
    },
    { label: 'Plays', align: 'end' as const, cell: (game: Game) => number.format(game.stats.plays) },
    { label: 'Made', cell: (game: Game) => html`<${When} at=${game.createdAt} day />` },
    {
      label: 'Actions',
      action: true,
      cell: (game: Game) => switched(game, switchForm),
    },
  ]
  const empty = q
    ? html`<${EmptyState} title="Nothing found">No game has this in its title or address.<//>`
    : html`<${EmptyState} title="No games yet" action=${{ href: '/games/new', label: 'Publish the first' }}>A folder with an <code>index.html</code> is all that a game needs.<//>`
  return html`
    <${PageHeader} title="Games" lede="Every game of this server, the newest first. Off the air nobody can play it; its owner keeps it." />
    <${Stack}>
      <${Search} action="/admin/games" label="Search by title, address or id" value=${q} />
      <${Table} caption="Games" columns=${columns} rows=${games} empty=${empty} />
      <${Pagination} label="Games" next=${nextCursor && `/admin/games?${search}cursor=${nextCursor}`}
        first=${paged ? `/admin/games${q ? `?q=${encodeURIComponent(q)}` : ''}` : null} />
    <//>`
}

const number = new Intl.NumberFormat('en')

/** What the server's first page says of games. */
export function contributeToOverview({ overview, games }: FastifyInstance): void {
  overview.figures.push(
    { label: 'games', order: 20, value: () => games.administration.count() },
    {
      label: 'in rooms now',
      order: 30,
      live: true,
      value: async () => [...(await games.playing.now()).values()].reduce((sum, players) => sum + players, 0),
    },
  )
  overview.steps.push({
    title: 'Publish the first game',
    text: 'A zip or folder with an index.html becomes playable at an address of its own.',
    order: 30,
    action: { href: '/games/new', label: 'Publish a game' },
    done: () => games.administration.anyToPlay(),
  })
}
