import Type from 'typebox'
import { callerOf } from '../../core/http/auth.ts'
import { SESSION_MS } from '../../core/http/event-streams.ts'
import type { Routes } from '../../core/http/routes.ts'
import {
  AvatarGroup,
  Chip,
  type Content,
  EmptyState,
  html,
  renderPage,
  renderPart,
  Section,
  Stats,
  Table,
  type View,
} from '../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../games/index.ts'
import type { RoomDirectory } from './directory.ts'
import type { RoomInfo } from './hosting/rooms.ts'

const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const MOST = 100

/** The current rooms of a game, on its dashboard. */
export const pages =
  (directory: RoomDirectory): Routes =>
  async (app) => {
    app.get(
      '/games/:slug/rooms',
      { config: { auth: 'session', page: true }, constraints: { origin: 'portal' }, schema: { params: Slug } },
      async (request, reply) => {
        const { playerId, viewer } = callerOf(request)
        const game = await app.games.mustOwn(playerId, request.params.slug)
        return renderPage(reply, {
          title: `Rooms of ${game.title}`,
          user: viewer,
          body: html`
            ${dashboardHeader(app, game, `/games/${game.slug}/rooms`)}
            <div data-part=${ROOMS} data-events=${`/live/games/${game.slug}/rooms`}>${roomsOf(game, await directory.list(game.id))}</div>
            <noscript><p class="note">Reload the page to look again.</p></noscript>`,
        })
      },
    )

    app.get(
      '/live/games/:slug/rooms',
      { config: { auth: 'session' }, constraints: { origin: 'portal' }, schema: { hide: true, params: Slug } },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const { id, slug } = await app.games.mustOwn(playerId, request.params.slug)
        const look = async () => {
          const [game, rooms] = await Promise.all([app.games.mustOwn(playerId, slug), directory.list(id)])
          return { event: 'parts', data: { [ROOMS]: renderPart(roomsOf(game, rooms)) } }
        }
        const shows = `rooms at ${slug} for ${playerId}`
        return app.eventStreams.send(reply, { key: `rooms of ${id}`, shows, look, longestMs: SESSION_MS })
      },
    )
  }

/** The name of the element that a stream updates. */
const ROOMS = 'rooms'

function roomsOf(game: Game, rooms: RoomInfo[]): View {
  const players = rooms.reduce((sum, room) => sum + room.players, 0)
  const rate = rooms.reduce((sum, room) => sum + room.rate, 0)
  const items = [
    { label: 'players', value: players, live: players > 0 },
    { label: 'rooms', value: rooms.length },
    { label: 'messages a second', value: rate.toFixed(1) },
  ]
  return html`
    <${Section} title="Rooms now" description=${game.settings.multiplayer.enabled ? 'As it is at this moment.' : 'Rooms are turned off in the settings of the game.'}>
      ${rooms.length > 0 && html`<${Stats} items=${items} />`}
      <${Table} caption=${`Rooms of ${game.title}`} columns=${COLUMNS} rows=${busiestFirst(rooms)} empty=${NOBODY} />
    <//>`
}

const NOBODY = html`<${EmptyState} title="Nobody is in a room">
  <p>A room exists while somebody is in it. A game enters one with <code>join('lobby')</code>.</p>
<//>`

const COLUMNS = [
  { label: 'Room', cell: (room: RoomInfo) => html`<code>${room.id}</code>` },
  { label: 'Players', align: 'end' as const, cell: (room: RoomInfo) => `${room.players} of ${room.capacity}` },
  { label: 'Who', cell: (room: RoomInfo) => html`<${AvatarGroup} people=${room.people} />` },
  { label: 'Messages a second', align: 'end' as const, cell: (room: RoomInfo) => room.rate.toFixed(1) },
  { label: 'State', cell: (room: RoomInfo): Content => stateOf(room) },
]

const stateOf = ({ locked, people }: RoomInfo): Content =>
  locked
    ? html`<${Chip}>locked<//>`
    : people.every(({ away }) => away)
      ? html`<${Chip} tone="warn">away<//>`
      : html`<${Chip} live>open<//>`

const busiestFirst = (rooms: RoomInfo[]) =>
  rooms.toSorted((a, b) => b.players - a.players || (a.id < b.id ? -1 : 1)).slice(0, MOST)
