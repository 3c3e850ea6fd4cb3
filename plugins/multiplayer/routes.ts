import type { WebSocket } from 'ws'
import { OtherCursor, type PageQuery as Page, PageQuery } from '../../core/http/pagination.ts'
import type { Routes } from '../../core/http/routes.ts'
import { refuseServiceWorker, serveScript } from '../game-edge/index.ts'
import { type AdmissionContext, admit, ROOM_ID, roomGameOf } from './admission/admission.ts'
import type { Admission } from './connections.ts'
import { UpgradeRequired } from './errors.ts'
import { type RoomInfo, scopeOf } from './hosting/rooms.ts'
import { Availability, RoomList, type RoomSummary } from './schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on the room route once the upgrade is allowed. */
    admission: Admission | null
  }
}

const CLIENT = '/__service/multiplayer.js'

/** `/mp…` and the client script, on each game's own origin. */
export const routes =
  (context: AdmissionContext): Routes =>
  async (app) => {
    const shared = { config: { auth: 'none' }, constraints: { origin: 'game' } } as const
    app.decorateRequest('admission', null)
    app.addHook('onRequest', refuseServiceWorker)

    app.get(
      '/mp',
      { ...shared, schema: { summary: 'Whether the game has rooms, and where', response: { 200: Availability } } },
      async (request, reply) => {
        const { game } = await roomGameOf(app, request)
        reply.header('cache-control', 'no-store')
        return {
          enabled: game.settings.multiplayer.enabled,
          version: 1 as const,
          rooms: `${app.edge.originOf(request).replace(/^http/, 'ws')}/mp/rooms/{roomId}`,
          client: CLIENT,
          docs: `${app.origins.portal}/docs`,
        }
      },
    )

    app.get(
      '/mp/rooms',
      {
        ...shared,
        schema: {
          summary: 'The rooms there are now, but those whose script does not list them',
          querystring: PageQuery,
          response: { 200: RoomList },
        },
      },
      async (request, reply) => {
        const { game, preview } = await roomGameOf(app, request)
        reply.header('cache-control', 'no-store')
        const rooms = await context.directory.list(scopeOf(game.id, preview))
        return pageOfRooms(
          rooms.filter(({ listed }) => listed !== false),
          request.query,
        )
      },
    )

    app.route({
      method: 'GET',
      url: '/mp/rooms/:roomId',
      config: { auth: 'none', upgrade: true, quiet: true },
      constraints: { origin: 'game' },
      schema: { hide: true },
      onRequest: async (request, reply) => {
        reply.header('cache-control', 'no-store')
        request.admission = await admit(app, context, request, { isUpgrade: request.ws })
      },
      // A browser can't read the reason of a refused upgrade. A fetch of the same address returns it, or this error if
      // the upgrade is allowed.
      handler: async () => {
        throw new UpgradeRequired().with({ headers: { upgrade: 'websocket' } })
      },
      wsHandler: (socket: WebSocket, request) => {
        const admission = request.admission as Admission
        context.connections.add(socket, request.raw.socket, admission)
        // A change during the upgrade did not find this socket.
        if (admission.changesSeen !== context.revalidation.changes) void context.revalidation.recheck(admission.gameId)
      },
    })

    serveScript(app, 'multiplayer.js')
  }

function pageOfRooms(rooms: RoomInfo[], { limit, cursor }: Page): { rooms: RoomSummary[]; nextCursor: string | null } {
  if (cursor && !ROOM_ID.test(cursor)) throw new OtherCursor()
  const after = rooms.filter(({ id }) => cursor === undefined || id > cursor)
  const page = after.slice(0, limit)
  return {
    rooms: page.map(({ id, players, capacity, locked }) => ({ id, players, capacity, locked })),
    nextCursor: after.length > limit ? (page.at(-1)?.id ?? null) : null,
  }
}
