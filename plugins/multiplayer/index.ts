import websocket from '@fastify/websocket'
import { Gauge } from 'prom-client'
import { definePlugin } from '../../core/plugin.ts'
import { AdmissionRevalidation } from './admission/revalidation.ts'
import { Connections } from './connections.ts'
import { ClusterDirectory, type RoomDirectory, SingleNodeDirectory } from './directory.ts'
import { Rooms } from './hosting/rooms.ts'
import { WriteCoalescer } from './hosting/write-coalescing.ts'
import { RoomRecord } from './journal/entities.ts'
import { RoomJournal } from './journal/room-journal.ts'
import { migration as logLinesMigration } from './migrations/2026_11_23_room_log_lines.ts'
import { migration as recordsMigration } from './migrations/2026_11_26_room_records.ts'
import { pages } from './pages/routes.ts'
import { CLOSE, frameLimits } from './room/limits.ts'
import { routes } from './routes.ts'
import { MultiplayerLimits } from './schemas.ts'
import { RoomLogLine } from './script-logs/entities.ts'
import { logRoutes } from './script-logs/routes.ts'
import { StoredScriptLogs } from './script-logs/script-logs.ts'
import { scriptBackends } from './scripts/backends.ts'
import { ScriptRuntime } from './scripts/script-runtime.ts'

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

/** The time for clients to close their side when the server stops. */
const CLOSE_GRACE_MS = 1000

/** Options of ws. Compression would cost memory for each socket. The others limit the fragments of a message. */
const SOCKET_OPTIONS = { perMessageDeflate: false, maxFragments: 128, maxBufferedChunks: 1024, closeTimeout: 5000 }

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
    const coalescer = new WriteCoalescer()
    const { clock, log } = app
    const count = (gameId: string, players: number) => app.games.count.present(gameId, players)
    const program = () => app.workerPrograms.text('script-sandbox')
    const scripts = new ScriptRuntime({
      clock,
      log,
      limits,
      program,
      backends: scriptBackends(app),
      load: (gameId, source) => app.deploys.roomScripts.load(gameId, source),
    })
    const rooms = new Rooms({ clock, limits, coalescer, log, scripts, count })
    const journal = new RoomJournal(app, { isShared: app.bus.shared })
    const directory: RoomDirectory = app.bus.shared
      ? new ClusterDirectory({ bus: app.bus, rooms, scripts, journal: app.bus.outlivesNodes ? null : journal, log })
      : new SingleNodeDirectory({ rooms, scripts, journal })
    const { roomFrameBytes: frameBytes, roomStateBytes: stateBytes } = limits
    const maxPayload = frameLimits({ frameBytes, stateBytes }).stateFrameBytes
    const connections = new Connections(app.clock, limits.roomUnsentBytes)
    const revalidation = new AdmissionRevalidation(app, connections)

    app.games.mostRoomPlayers = Math.min(app.games.mostRoomPlayers, limits.roomPlayers)
    const logs = new StoredScriptLogs(app)
    scripts.logs = logs
    app.scores.hasRoomScript = async ({ id, liveDeployId, settings }) =>
      settings.multiplayer.enabled &&
      liveDeployId !== null &&
      (await app.deploys.roomScripts.load(id, { from: 'live' })) !== null
    app.games.deletion.cleanups.push((em, gameId) => logs.ofGame(em, gameId))
    app.games.deletion.cleanups.push((em, gameId) => journal.ofGame(em, gameId))
    app.decorate('rooms', { list: (gameId, options) => directory.list(gameId, options), scripts, logs })

    /** Settles when the rooms of this node are handed over. */
    let stopped: Promise<void> | undefined
    await app.register(websocket, {
      options: { ...SOCKET_OPTIONS, maxPayload },
      // Each connection handles its own errors. ws has already sent the close code.
      errorHandler: (error, socket, request) => {
        request.log.debug({ err: error }, 'a room socket failed')
        if (socket.readyState === socket.OPEN) socket.close(1011, 'internal error')
      },
      preClose(done) {
        const { clients } = this.websocketServer
        // The sockets stay open until their players have been sent all that was said in the rooms.
        stopped = directory.stop().finally(() => {
          for (const client of clients) client.close(CLOSE.restart, 'restarting')
          setTimeout(() => {
            for (const client of clients) client.terminate()
          }, CLOSE_GRACE_MS).unref()
        })
        // Its failure is thrown by `onClose`.
        stopped.catch(() => {})
        this.websocketServer.close()
        done()
      },
    })
    // Once there is a listener for upgrades, Node passes it every socket that requested one, whichever route refuses
    // the request. Without this hook such a socket would stay open for as long as its client likes.
    app.addHook('onResponse', (request, _reply, done) => {
      if (request.raw.headers.upgrade !== undefined) request.raw.socket?.destroy()
      done()
    })
    await app.register(routes({ directory, connections, revalidation, limits }))
    await app.register(logRoutes(logs))
    await app.register(pages({ directory, logs, scriptBytes: limits.roomScriptBytes }))
    app.games.dashboard.tabs.push({ label: 'Rooms', order: 40, href: (game) => `/games/${game.slug}/rooms` })

    const endOfKeys = () =>
      connections
        .endOfKeys((keyId) => app.keyRings.isEnded('sessions', keyId))
        .catch((error) =>
          app.log.warn({ err: error }, 'whether keys were ended could not be read; it will be tried again'),
        )
    const pingMs = limits.roomPingSeconds * 1000
    const timers = [
      setInterval(() => void directory.maintain(), 1000),
      setInterval(() => connections.probe(pingMs), pingMs),
      setInterval(() => void revalidation.retry(), 1000),
      setInterval(() => void endOfKeys(), 1000),
    ]
    for (const timer of timers) timer.unref()
    app.addHook('onReady', () => directory.start())
    app.addHook('onClose', async () => {
      timers.forEach(clearInterval)
      // The scripts give their last snapshots meanwhile.
      await stopped
      await scripts.close()
      await logs.flush()
    })

    app.events.on('player.changed', async ({ playerId }) => {
      const occupied = rooms.withAccount(playerId)
      const player = occupied.length > 0 ? await app.identity.players.find(playerId) : null
      if (player) {
        for (const { room } of occupied) room.show({ sub: playerId, name: player.name, imageUrl: player.imageUrl })
      }
    })
    app.events.on('player.changed', async ({ playerId }) => {
      if (!connections.has(playerId)) return
      const standing = await app.identity.players.standing(playerId)
      connections.endUnless(playerId, (epoch) => standing !== null && !standing.disabled && standing.epoch === epoch)
      for (const sessionId of connections.sessionsOf(playerId)) {
        if (!(await app.identity.sessions.holds(sessionId))) connections.endOfSession(sessionId)
      }
    })
    app.events.on('session.ended', ({ sessionId }) => connections.endOfSession(sessionId))
    app.events.on('consent.revoked', ({ consentId }) => connections.endOf(consentId))
    app.events.on('game.changed', ({ gameId }) => revalidation.gameChanged(gameId))
    app.events.on('game.purged', ({ gameId }) => revalidation.gameChanged(gameId))
    app.events.on('rooms.restart', ({ gameId }) => rooms.restart(gameId))
    app.events.on('app.changed', ({ clientId }) => revalidation.appChanged(clientId))
    new Gauge({
      name: 'gameyard_room_sockets',
      help: 'Room sockets open now.',
      registers: [app.metrics],
      collect() {
        this.set(connections.size)
      },
    })
  },
)
