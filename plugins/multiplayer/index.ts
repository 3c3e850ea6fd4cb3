import { definePlugin } from '../../core/plugin.ts'
import { measureSockets } from './connections.ts'
import type { RoomDirectory } from './directory.ts'
import { followEvents } from './follow-events.ts'
import { RoomRecord } from './journal/entities.ts'
import { migration as logLinesMigration } from './migrations/2026_11_23_room_log_lines.ts'
import { migration as recordsMigration } from './migrations/2026_11_26_room_records.ts'
import { pages } from './pages/routes.ts'
import { routes } from './routes.ts'
import { MultiplayerLimits } from './schemas.ts'
import { RoomLogLine } from './script-logs/entities.ts'
import { logRoutes } from './script-logs/routes.ts'
import type { StoredScriptLogs } from './script-logs/script-logs.ts'
import type { ScriptRuntime } from './scripts/script-runtime.ts'
import { createServices } from './services.ts'
import { acceptSockets } from './sockets.ts'
import { startTimers } from './timers.ts'

export type { RoomInfo } from './hosting/rooms.ts'
export type * from './scripts/interface.ts'

declare module 'fastify' {
  interface FastifyInstance {
    rooms: Pick<RoomDirectory, 'list'> & {
      /** The runtime of room scripts: where their logs go. */
      readonly scripts: Pick<ScriptRuntime, 'logs' | 'threads'>
      /** What room scripts have logged. */
      readonly logs: Pick<StoredScriptLogs, 'list'>
    }
  }
}

/** Rooms, in which players of a game communicate over WebSockets. Protocol 1 is in `room/`. */
export default definePlugin(
  {
    name: 'multiplayer',
    dependencies: ['oauth-idp', 'games', 'deploy', 'game-edge', 'saves', 'scores'],
    limits: MultiplayerLimits,
    entities: [RoomLogLine, RoomRecord],
    migrations: [logLinesMigration, recordsMigration],
  },
  async (app, _config, limits) => {
    const services = createServices(app, limits)
    const { directory, connections, revalidation, rooms, scripts, logs, journal } = services
    app.games.mostRoomPlayers = Math.min(app.games.mostRoomPlayers, limits.roomPlayers)
    app.scores.hasRoomScript = async ({ id, liveDeployId, settings }) =>
      settings.multiplayer.enabled &&
      liveDeployId !== null &&
      (await app.deploys.roomScripts.load(id, { from: 'live' })) !== null
    app.games.deletion.cleanups.push((em, gameId) => logs.ofGame(em, gameId))
    app.games.deletion.cleanups.push((em, gameId) => journal.ofGame(em, gameId))
    app.decorate('rooms', { list: (gameId, options) => directory.list(gameId, options), scripts, logs })

    const sockets = await acceptSockets(app, { limits, stop: () => directory.stop() })
    await app.register(routes({ directory, connections, revalidation, limits }))
    await app.register(logRoutes(logs))
    await app.register(pages({ directory, logs, scriptBytes: limits.roomScriptBytes }))
    app.games.dashboard.tabs.push({ label: 'Rooms', order: 40, href: (game) => `/games/${game.slug}/rooms` })

    const timers = startTimers(app, { ...services, limits })
    app.addHook('onReady', () => directory.start())
    app.addHook('onClose', async () => {
      timers.forEach(clearInterval)
      // The scripts give their last snapshots meanwhile.
      await sockets.stopped()
      await scripts.close()
      await logs.flush()
    })

    measureSockets(app.metrics, connections)
    followEvents(app, { rooms, connections, revalidation })
  },
)
