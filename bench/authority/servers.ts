// `npx node bench/authority/servers.ts gameyard|colyseus`: one of the servers that bench/authority.ts compares. Players send
// inputs, the server moves them, and sends the state of the room 20 times a second. `gameyard small` has a script that
// only greets. Writes one line of JSON once it listens: its port, and the headers for opening a player's socket.
import { LARGEST_ROOM, type Listening, runServer, startColyseus, startGameyard } from '../rooms/start-server.ts'

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

const gameyard = () =>
  startGameyard({
    'index.html': '<title>Bench</title>',
    'room.js': process.argv[3] === 'small' ? SMALL_SCRIPT : SCRIPT,
  })

async function colyseus(): Promise<Listening> {
  const { Room } = await import('@colyseus/core')
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
  return await startColyseus(BenchRoom)
}

await runServer({ gameyard, colyseus })
