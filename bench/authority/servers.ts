// `node bench/authority/servers.ts gameyard|colyseus`: one of the servers that bench/authority.ts compares. Players send
// inputs, the server moves them, and sends the state of the room 20 times a second. `gameyard small` has a script that
// only greets. Writes one line of JSON once it listens: its port, and the headers for opening a player's socket.
import { once } from 'node:events'
import { createServer } from 'node:http'

const LARGEST_ROOM = 200

/** The game as a room script. */
const SCRIPT = `
  export const settings = { tick: 20 }
  const moves = new Map()
  export function join(room, player) { moves.set(player.id, { x: 0, y: 0, vx: 0, vy: 0 }) }
  export function leave(room, player) { moves.delete(player.id) }
  export function message(room, player, type, { vx, vy }) {
    const move = moves.get(player.id)
    move.vx = Math.max(-1, Math.min(1, vx))
    move.vy = Math.max(-1, Math.min(1, vy))
  }
  export function tick(room, seconds) {
    const players = []
    for (const [id, move] of moves) {
      move.x += move.vx * seconds
      move.y += move.vy * seconds
      players.push([id, move.x, move.y])
    }
    room.send('m', { at: room.now(), players })
  }`

/** A script that only greets, for the memory of idle rooms and the time to the first message. */
const SMALL_SCRIPT = `
  export function join(room, player) { room.send('m', { at: room.now(), players: room.players.length }, player) }`

async function gameyard() {
  const { startKernel } = await import('../../test/kit/kernel.ts')
  const { Platform } = await import('../../test/kit/platform.ts')
  const { headersOf, signInTo } = await import('../../test/plugins/multiplayer/kit.ts')
  const { filesOf, upload } = await import('../../test/plugins/deploy/build.ts')
  const { manualClock } = await import('../../test/kit/driver-context.ts')
  const { plugins } = await import('../../plugins/index.ts')
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  const test = { teardown() {} } as unknown as Parameters<typeof startKernel>[0]
  // All settings have their defaults, except that one account may hold all sockets.
  const limits = {
    ...{ rateLimits: false, connectionsPerAddress: 100_000 },
    ...{ roomSocketsPerPlayer: 100_000, roomPlayers: LARGEST_ROOM },
  }
  const app = await startKernel(test, { plugins, config: { listen: { host: '127.0.0.1', port }, limits } })
  await app.listen({ host: '127.0.0.1', port })
  const platform = new Platform(app, manualClock())
  const player = await platform.signUp()
  const game = await platform.game(player, { settings: { multiplayer: { maxPlayersPerRoom: LARGEST_ROOM } } })
  const program = await platform.program(player)
  const files = { 'index.html': '<title>Bench</title>', 'room.js': process.argv[3] === 'small' ? SMALL_SCRIPT : SCRIPT }
  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'room.js' })
  for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
  const finalized = await program.post(`/api/deploy/${begun.body.deployId}/finalize`)
  if (finalized.status !== 200) throw new Error(finalized.text)
  const host = platform.gameHost(game.slug)
  await signInTo(player, host)
  return { port, headers: headersOf(player, host) }
}

async function colyseus() {
  const { Room, Server } = await import('@colyseus/core')
  const { WebSocketTransport } = await import('@colyseus/ws-transport')
  const { schema, t } = await import('@colyseus/schema')
  const Move = schema({ x: t.number(), y: t.number() })
  const State = schema({ at: t.number(), players: t.map(Move) })
  type Velocity = { vx: number; vy: number }
  class BenchRoom extends Room {
    override maxClients = LARGEST_ROOM
    override patchRate = 50
    override state = new State()
    readonly velocities = new Map<string, Velocity>()
    override onCreate() {
      this.onMessage('m', (client, { vx, vy }: Velocity) => {
        const clamp = (value: number) => Math.max(-1, Math.min(1, value))
        this.velocities.set(client.sessionId, { vx: clamp(vx), vy: clamp(vy) })
      })
      this.setSimulationInterval((ms) => {
        this.state.at = performance.timeOrigin + performance.now()
        for (const [id, { vx, vy }] of this.velocities) {
          const move = this.state.players.get(id)
          if (!move) continue
          move.x += (vx * ms) / 1000
          move.y += (vy * ms) / 1000
        }
      }, 50)
    }
    override onJoin(client: { sessionId: string }) {
      const move = new Move()
      move.x = 0
      move.y = 0
      this.state.players.set(client.sessionId, move)
    }
  }
  const http = createServer()
  const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) })
  server.define('bench', BenchRoom).filterBy(['room'])
  await server.listen(0, '127.0.0.1')
  return { port: (http.address() as { port: number }).port, headers: {} }
}

process.on('SIGTERM', () => process.exit(0))

const subject = { gameyard, colyseus }[process.argv[2] ?? '']
if (!subject) throw new Error('Say which: gameyard, colyseus')
process.stdout.write(`${JSON.stringify(await subject())}\n`)
