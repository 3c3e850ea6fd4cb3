// Opens new rooms one after the other, each with one player, for bench/authority.ts. It reads one job as JSON from the
// command line, and writes one line of JSON: the time from the begin of connecting to the first message of the room's
// script, in ms, for each room in order. Then it waits.
import WebSocket from 'ws'

interface RoomsJob {
  port: number
  headers: Record<string, string>
  rooms: number
}

const { port, headers, rooms } = JSON.parse(process.argv[2] ?? '{}') as RoomsJob

/** Opens a room. @returns the time to its first message in ms */
async function open(room: string): Promise<number> {
  const began = performance.now()
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/${room}`, { headers, perMessageDeflate: false })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.on('message', (data: Buffer) => {
      if (JSON.parse(data.toString()).t === 'msg') resolve(performance.now() - began)
    })
  })
}

const times: number[] = []
for (let at = 0; at < rooms; at++) times.push(await open(`room${at}`))
process.stdout.write(`${JSON.stringify({ times })}\n`)
