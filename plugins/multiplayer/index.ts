import websocket from '@fastify/websocket'
import { Gauge } from 'prom-client'
import { definePlugin } from '../../core/plugin.ts'
import { Connections } from './connections.ts'
import { Delivery } from './delivery.ts'
import { pages } from './pages.ts'
import { ManyNodes, OneNode, type Places } from './places.ts'
import { CLOSE } from './room/room.ts'
import { Rooms } from './rooms.ts'
import { routes } from './routes.ts'
import { MultiplayerLimits } from './schemas.ts'
import { Welcomes } from './welcomes.ts'

export type { RoomInfo } from './rooms.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Who is playing now. */
    rooms: Pick<Places, 'list'>
  }
}

/** How long clients have to close their side when the server stops. */
const GOODBYE_MS = 1000

/** Of ws. Compression would cost memory for each socket; the others bound what a message may be cut into. */
const SOCKET_OPTIONS = { perMessageDeflate: false, maxFragments: 128, maxBufferedChunks: 1024, closeTimeout: 5000 }

/** Rooms: players of a game who talk over WebSockets. Protocol 1 is in `room/`. */
export default definePlugin(
  {
    name: 'multiplayer',
    dependencies: ['oauth-idp', 'games', 'game-edge'],
    limits: MultiplayerLimits,
  },
  async (app, _config, limits) => {
    const delivery = new Delivery()
    const { clock, log } = app
    const count = (gameId: string, players: number) => app.games.count.present(gameId, players)
    const rooms = new Rooms({ clock, limits, delivery, log, count })
    const places: Places = app.bus.shared
      ? new ManyNodes({ bus: app.bus, rooms, log: app.log, clock: app.clock })
      : new OneNode(rooms)
    const connections = new Connections(app.clock, limits.roomUnsentBytes)
    const welcomes = new Welcomes(app, connections)

    app.decorate('rooms', { list: (gameId) => places.list(gameId) })

    await app.register(websocket, {
      options: { ...SOCKET_OPTIONS, maxPayload: limits.roomFrameBytes },
      // Each connection deals with its own; ws has already sent the close code.
      errorHandler: (error, socket, request) => {
        request.log.debug({ err: error }, 'a room socket failed')
        if (socket.readyState === socket.OPEN) socket.close(1011, 'internal error')
      },
      preClose(done) {
        void places.stop()
        const { clients } = this.websocketServer
        for (const client of clients) client.close(CLOSE.restart, 'restarting')
        this.websocketServer.close()
        setTimeout(() => {
          for (const client of clients) client.terminate()
        }, GOODBYE_MS).unref()
        done()
      },
    })
    // Once there is a listener for upgrades, Node leaves every socket that asked for one to it, whichever route refuses
    // it: without this such a socket would stay open for as long as its client likes.
    app.addHook('onResponse', (request, _reply, done) => {
      if (request.raw.headers.upgrade !== undefined) request.raw.socket?.destroy()
      done()
    })
    await app.register(routes({ places, connections, welcomes, limits }))
    await app.register(pages(places))
    app.games.dashboard.tabs.push({ label: 'Rooms', order: 40, href: (game) => `/games/${game.slug}/rooms` })

    const timers = [
      setInterval(() => void places.tend(), 1000),
      setInterval(() => connections.probe(), limits.roomPingSeconds * 1000),
      setInterval(() => void welcomes.retry(), 1000),
    ]
    for (const timer of timers) timer.unref()
    app.addHook('onReady', () => places.start())
    app.addHook('onClose', async () => timers.forEach(clearInterval))

    app.events.on('player.changed', async ({ playerId }) => {
      if (!connections.has(playerId)) return
      const standing = await app.identity.players.standing(playerId)
      connections.endUnless(playerId, (epoch) => standing !== null && !standing.disabled && standing.epoch === epoch)
    })
    app.events.on('consent.revoked', ({ consentId }) => connections.endOf(consentId))
    app.events.on('game.changed', ({ gameId }) => welcomes.gameChanged(gameId))
    app.events.on('game.purged', ({ gameId }) => welcomes.gameChanged(gameId))
    app.events.on('app.changed', ({ clientId }) => welcomes.appChanged(clientId))
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
