// The players of bench/authority.ts: see rooms/players.ts. With a rate of 0, each player sends one input for each state
// that it receives.
import { once } from 'node:events'
import WebSocket from 'ws'
import { Deliveries, enterRooms, job, type Player, sendRegularly } from '../rooms/players.ts'

const now = () => performance.timeOrigin + performance.now()
const deliveries = new Deliveries(8, now)
const input = () => ({ vx: Math.random() * 2 - 1, vy: Math.random() * 2 - 1 })

async function overWs(room: string): Promise<Player> {
  const url = `ws://127.0.0.1:${job.port}/mp/rooms/${room}`
  const connect = async () => {
    const socket = new WebSocket(url, { headers: job.headers, perMessageDeflate: false, skipUTF8Validation: true })
    await once(socket, 'message')
    return socket
  }
  // A busy server may refuse, for example when the script has not admitted the player in time.
  const socket = await connect().catch(connect).catch(connect)
  const player = { send: (data: object) => socket.send(JSON.stringify({ t: 'send', type: 'm', data })) }
  socket.on('message', (data: Buffer) => {
    deliveries.count(() => JSON.parse(data.toString()).data.at)
    if (job.rate === 0) player.send(input())
  })
  return player
}

async function overColyseus(name: string): Promise<Player> {
  const { Client } = await import('@colyseus/sdk')
  const client = new Client(`http://127.0.0.1:${job.port}`)
  // A busy server drops connections of its matchmaking.
  const enter = () => client.joinOrCreate('bench', { room: name })
  const room = await enter().catch(enter).catch(enter)
  room.onStateChange((state: { at: number }) => {
    deliveries.count(() => state.at)
    if (job.rate === 0) room.send('m', input())
  })
  return { send: (data) => room.send('m', data) }
}

const players = await enterRooms(job.subject === 'colyseus' ? overColyseus : overWs, 20)
const stop = job.rate > 0 ? sendRegularly(players, now, input) : () => {}
await deliveries.measure({ warmUpMs: 4000, stop })
