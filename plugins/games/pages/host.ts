import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { REASON_LENGTH } from '../../../core/data/staff/suspensions.ts'
import { actorOf, callerOf, staffPage } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Button,
  Chip,
  type Content,
  EmptyState,
  Field,
  Form,
  html,
  PageHeader,
  Pagination,
  renderPage,
  Search,
  Stack,
  Table,
  Timestamp,
  type View,
} from '../../../core/pages/index.ts'
import type { ListedGame } from '../administration.ts'
import { isReady, pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'
import { inWords } from './card.ts'
import { stateChips } from './dashboard.ts'
import { gameTitle } from './game-title.ts'

const PER_PAGE = 25

/** Pages for administrators: all games, and their suspension. */
export const hostPages: Routes = async (app) => {
  const { administration } = app.games
  const Query = Type.Object({
    q: Type.Optional(Type.String({ maxLength: 100 })),
    cursor: Type.Optional(Type.String({ maxLength: 40 })),
    done: Type.Optional(Type.String({ maxLength: 10 })),
    game: Type.Optional(Type.String({ maxLength: 40 })),
  })

  app.get('/admin/games', { ...staffPage, schema: { querystring: Query } }, async (request, reply) => {
    const { q, cursor, done, game: id } = request.query
    const [{ games, nextCursor }, changed] = await Promise.all([
      administration.list({ q, limit: PER_PAGE, ...(cursor ? { cursor } : {}) }),
      done && id ? app.games.byId(id) : null,
    ])
    const names = await app.identity.players.namesOf(idsOfMakers(games))
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Games on this server',
      current: '/admin/games',
      user: callerOf(request).viewer,
      flash: flashOf(done, changed),
      body: gamesPage({
        games,
        names,
        nextCursor,
        q,
        paged: cursor !== undefined,
        administers: callerOf(request).viewer?.role === 'admin',
      }),
    })
  })

  const Params = Type.Object({ id: Type.String({ maxLength: 40 }) })
  const suspensionPage = async (request: FastifyRequest, reply: FastifyReply, id: string, problem?: string) => {
    const game = await app.games.get(id)
    const names = await app.identity.players.namesOf(idsOfMakers([game]))
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Suspend ${game.title}`,
      current: '/admin/games',
      user: callerOf(request).viewer,
      status: problem ? 400 : 200,
      narrow: true,
      body: SuspensionPage({ game, names, problem }),
    })
  }

  app.get('/admin/games/:id/suspend', { ...staffPage, schema: { params: Params } }, (request, reply) =>
    suspensionPage(request, reply, request.params.id),
  )

  app.post(
    '/admin/games/:id/suspend',
    {
      ...staffPage,
      schema: { params: Params, body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 4096 })) }) },
    },
    async (request, reply) => {
      const reason = request.body.reason?.trim()
      if (!reason) return suspensionPage(request, reply, request.params.id, 'Give the reason. The maker reads it.')
      const game = await app.games.suspensions.suspend(request.params.id, reason, actorOf(request))
      request.log.info({ step: 'suspend', game: game.id, reason, by: callerOf(request).playerId }, CHANGED)
      return reply.redirect(`/admin/games?done=suspend&game=${game.id}`, 303)
    },
  )

  app.post('/admin/games/:id/lift', { ...staffPage, schema: { params: Params } }, async (request, reply) => {
    const game = await app.games.suspensions.lift(request.params.id, actorOf(request))
    request.log.info({ step: 'lift', game: game.id, by: callerOf(request).playerId }, CHANGED)
    return reply.redirect(`/admin/games?done=lift&game=${game.id}`, 303)
  })
}

const CHANGED = 'an administrator changed a game'

function flashOf(done: string | undefined, changed: Game | null) {
  if (done === 'delete') return { message: 'The game is deleted.' }
  return changed ? { message: told(changed) } : null
}

/** The message after a step, with a button to undo it. */
const told = (game: Game): View => html`
  ${game.suspended ? 'Suspended' : 'Can be played again'}: ${gameTitle(game)}. ${game.suspended && liftForm(game, 'Undo')}`

const liftForm = ({ id, title }: Game, text = 'Lift'): View => html`
  <${Form} action=${`/admin/games/${id}/lift`} inline><${Button} small label=${`${text}: ${title}`}>${text}<//><//>`

const stateOf = (game: ListedGame): View => html`<div>
  <span class="row">${stateChips(game, isReady(game))}${game.isDeleted && html`<${Chip}>deleted by its owner<//>`}</span>
  ${game.suspended && html`<p class="soft">${game.suspended.reason}${game.appeal && html`<br />Its maker answers: ${game.appeal}`}</p>`}
</div>`

/** @param administers whether the viewer is an administrator */
function actionOf(game: ListedGame, administers: boolean): View | null {
  const { id, title, suspended, makerIds, isDeleted = false } = game
  if (!suspended)
    return isDeleted
      ? null
      : html`<${Button} small href=${`/admin/games/${id}/suspend`} label=${`Suspend: ${title}`}>Suspend<//>`
  return html`<span class="row">
    ${!isDeleted && liftForm(game)}
    ${!isDeleted && administers && makerIds.length > 0 && html`<${Button} small href=${`/admin/games/${id}/hand-over`} label=${`Hand over: ${title}`}>Hand over<//>`}
    ${administers && html`<${Button} small href=${`/admin/games/${id}/delete`} label=${`Delete: ${title}`}>Delete<//>`}
  </span>`
}

/** Returns the ids of all makers of some games, for their names. */
export const idsOfMakers = (games: readonly Game[]): string[] => [
  ...new Set(games.flatMap(({ ownerId, makerIds }) => [ownerId, ...makerIds])),
]

/** Names the makers of a game, the owner first, with links to their pages for staff. @param names by id */
export const makersForStaff = ({ ownerId, makerIds }: Game, names: ReadonlyMap<string, string>): Content =>
  inWords(
    [ownerId, ...makerIds].map((id) => html`<a href=${`/admin/players/${id}`}><bdi>${names.get(id) ?? id}</bdi></a>`),
  )

interface SuspensionPageProps {
  game: Game
  /** Names by id. */
  names: ReadonlyMap<string, string>
  problem: string | undefined
}

function SuspensionPage({ game, names, problem }: SuspensionPageProps): View {
  return html`
    <${PageHeader} title=${`Suspend ${game.title}`} lede=${html`A game by ${makersForStaff(game, names)}. Nobody can play it or sign in to it until you lift the suspension; its files stay.`}
      crumbs=${[{ label: 'Games', href: '/admin/games' }]} />
    <${Form} action=${`/admin/games/${game.id}/suspend`}>
      <${Field} label="Reason" name="reason" type="textarea" rows=${4} required maxlength=${REASON_LENGTH} error=${problem}
        hint="Its maker reads this and may answer once." value=${game.suspended?.reason} />
      <${Button} kind="act">Suspend the game<//>
    <//>`
}

interface GamesPageProps {
  games: ListedGame[]
  /** Names by id. */
  names: ReadonlyMap<string, string>
  nextCursor: string | null
  q: string | undefined
  paged: boolean
  /** Whether the viewer is an administrator. */
  administers: boolean
}

function gamesPage({ games, names, nextCursor, q, paged, administers }: GamesPageProps): View {
  const search = q ? `q=${encodeURIComponent(q)}&` : ''
  const columns = [
    {
      label: 'Game',
      cell: (game: Game) =>
        html`<a href=${pathOf(game)}>${gameTitle(game)}</a><br /><code class="soft">${game.slug}</code>`,
    },
    {
      label: 'State',
      cell: stateOf,
    },
    {
      label: 'Owner and makers',
      cell: (game: Game) => makersForStaff(game, names),
    },
    { label: 'Plays', align: 'end' as const, cell: (game: Game) => number.format(game.stats.plays) },
    { label: 'Created', cell: (game: Game) => html`<${Timestamp} at=${game.createdAt} day />` },
    {
      label: 'Actions',
      action: true,
      cell: (game: ListedGame) => actionOf(game, administers),
    },
  ]
  const empty = q
    ? html`<${EmptyState} title="Nothing found">No game has this in its title or address.<//>`
    : html`<${EmptyState} title="No games yet" action=${{ href: '/games/new', label: 'Publish the first' }}>A folder with an <code>index.html</code> is all that a game needs.<//>`
  return html`
    <${PageHeader} title="Games" lede="Every game of this server, newest first. Nobody can play a suspended game. Its owner reads the reason and may answer once." />
    <${Stack}>
      <${Search} action="/admin/games" label="Search by title, address or id" value=${q} />
      <${Table} caption="Games" columns=${columns} rows=${games} empty=${empty} />
      <${Pagination} label="Games" next=${nextCursor && `/admin/games?${search}cursor=${nextCursor}`}
        first=${paged ? `/admin/games${q ? `?q=${encodeURIComponent(q)}` : ''}` : null} />
    <//>`
}

const number = new Intl.NumberFormat('en')

/** Adds the game statistics to the administrator's first page. */
export function contributeToHostDashboard({ hostDashboard, games }: FastifyInstance): void {
  hostDashboard.stats.push(
    { label: 'games', order: 20, value: () => games.administration.count() },
    {
      label: 'in rooms now',
      order: 30,
      live: true,
      value: async () => [...(await games.playing.now()).values()].reduce((sum, players) => sum + players, 0),
    },
  )
  hostDashboard.setupSteps.push({
    title: 'Publish the first game',
    text: 'Create one in the browser, or upload a folder with an index.html. Each game has an address of its own.',
    order: 15,
    action: { href: '/games/new', label: 'Publish a game' },
    done: () => games.administration.anyToPlay(),
  })
}
