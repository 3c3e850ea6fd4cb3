import websocket from '@fastify/websocket'
import { Gauge } from 'prom-client'
import { definePlugin } from '../../core/plugin.ts'
import { AdmissionRevalidation } from './admission/revalidation.ts'
import { Connections } from './connections.ts'
import { ClusterDirectory, type RoomDirectory, SingleNodeDirectory } from './directory.ts'
import { Rooms } from './hosting/rooms.ts'
import { WriteCoalescer } from './hosting/write-coalescing.ts'
import { pages } from './pages.ts'
import { CLOSE } from './room/room.ts'
import { routes } from './routes.ts'
import { MultiplayerLimits } from './schemas.ts'

export type { RoomInfo } from './hosting/rooms.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The current players. */
    rooms: Pick<RoomDirectory, 'list'>
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
    dependencies: ['oauth-idp', 'games', 'game-edge'],
    limits: MultiplayerLimits,
  },
  async (app, _config, limits) => {
    const coalescer = new WriteCoalescer()
    const { clock, log } = app
    const count = (gameId: string, players: number) => app.games.count.present(gameId, players)
    const rooms = new Rooms({ clock, limits, coalescer, log, count })
    const directory: RoomDirectory = app.bus.shared
      ? new ClusterDirectory({ bus: app.bus, rooms, log: app.log, clock: app.clock })
      : new SingleNodeDirectory(rooms)
    const connections = new Connections(app.clock, limits.roomUnsentBytes)
    const revalidation = new AdmissionRevalidation(app, connections)

    app.decorate('rooms', { list: (gameId) => directory.list(gameId) })

    await app.register(websocket, {
      options: { ...SOCKET_OPTIONS, maxPayload: limits.roomFrameBytes },
      // Each connection handles its own errors. ws has already sent the close code.
      errorHandler: (error, socket, request) => {
        request.log.debug({ err: error }, 'a room socket failed')
        if (socket.readyState === socket.OPEN) socket.close(1011, 'internal error')
      },
      preClose(done) {
        void directory.stop()
        const { clients } = this.websocketServer
        for (const client of clients) client.close(CLOSE.restart, 'restarting')
        this.websocketServer.close()
        setTimeout(() => {
          for (const client of clients) client.terminate()
        }, CLOSE_GRACE_MS).unref()
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
    await app.register(pages(directory))
    app.games.dashboard.tabs.push({ label: 'Rooms', order: 40, href: (game) => `/games/${game.slug}/rooms` })

    const endOfKeys = () =>
      connections
        .endOfKeys((keyId) => app.keyRings.isEnded('sessions', keyId))
        .catch((error) =>
          app.log.warn({ err: error }, 'whether keys were ended could not be read; it will be tried again'),
        )
    const timers = [
      setInterval(() => void directory.maintain(), 1000),
      setInterval(() => connections.probe(), limits.roomPingSeconds * 1000),
      setInterval(() => void revalidation.retry(), 1000),
      setInterval(() => void endOfKeys(), 1000),
    ]
    for (const timer of timers) timer.unref()
    app.addHook('onReady', () => directory.start())
    app.addHook('onClose', async () => timers.forEach(clearInterval))

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
