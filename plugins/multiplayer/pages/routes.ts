import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { SESSION_MS } from '../../../core/http/event-streams.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { html, renderPage, renderPart, type View } from '../../../core/pages/index.ts'
import { dashboardHeader, type Game } from '../../games/index.ts'
import type { RoomDirectory } from '../directory.ts'
import type { StoredScriptLogs } from '../script-logs/script-logs.ts'
import { logOf } from './log.ts'
import { roomsOf } from './rooms.ts'
import { errorsOf, lastErrors, withSources } from './script-errors.ts'

const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
/** The number of the log's lines that the page reads; it shows fewer, and the errors among all of them. */
const LINES = 100

interface Parts {
  directory: RoomDirectory
  logs: StoredScriptLogs
  /** The memory that each room's script may use. */
  scriptBytes: number
}

/** The current rooms of a game and what their scripts report, on its dashboard. */
export const pages =
  (parts: Parts): Routes =>
  async (app) => {
    app.get(
      '/games/:slug/rooms',
      { config: { auth: 'session', page: true }, constraints: { origin: 'portal' }, schema: { params: Slug } },
      async (request, reply) => {
        const { playerId, viewer } = callerOf(request)
        const game = await app.games.mustMake(playerId, request.params.slug)
        const shown = await viewOf(app, parts, game)
        return renderPage(reply, {
          title: `Rooms of ${game.title}`,
          user: viewer,
          body: html`
            ${dashboardHeader(app, game, `/games/${game.slug}/rooms`)}
            <div data-part=${ROOMS} data-events=${`/live/games/${game.slug}/rooms`}>${shown}</div>
            <noscript><p class="note">Reload the page to look again.</p></noscript>`,
        })
      },
    )

    app.get(
      '/live/games/:slug/rooms',
      { config: { auth: 'session' }, constraints: { origin: 'portal' }, schema: { hide: true, params: Slug } },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        const { id, slug } = await app.games.mustMake(playerId, request.params.slug)
        const look = async () => {
          const shown = await viewOf(app, parts, await app.games.mustMake(playerId, slug))
          return { event: 'parts', data: { [ROOMS]: renderPart(shown) } }
        }
        const shows = `rooms at ${slug} for ${playerId}`
        return app.eventStreams.send(reply, { key: `rooms of ${id}`, shows, look, longestMs: SESSION_MS })
      },
    )
  }

/** The name of the element that a stream updates. */
const ROOMS = 'rooms'

async function viewOf(
  app: Pick<FastifyInstance, 'deploys'>,
  { directory, logs, scriptBytes }: Parts,
  game: Game,
): Promise<View> {
  const [rooms, { lines }] = await Promise.all([
    directory.list(game.id, { previews: true }),
    logs.list(game.id, { limit: LINES }),
  ])
  const errors = await withSources(lastErrors(rooms, lines), (deployId, places) =>
    app.deploys.roomScripts.locate(game.id, deployId, places),
  )
  const hasScript =
    game.liveDeployId !== null && (await app.deploys.roomScripts.load(game.id, { from: 'live' })) !== null
  return html`
    ${roomsOf(game, rooms, scriptBytes)}
    ${errorsOf(errors, game.liveDeployId)}
    ${logOf(lines, { hasScript })}`
}
