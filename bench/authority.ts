// `npx node bench/authority.ts`: rooms in which the server decides: players send inputs, it moves them, and sends the state
// of the room 20 times a second. Gameyard's room script (in QuickJS in a worker thread) beside Colyseus' own handlers
// and schema, in one run. Deliveries for each second of the server's CPU time, all its threads included. Then the memory
// of idle rooms, and the time to the first message of a new one.
//
//   SECONDS=10   of each measurement (5)      SCENARIOS=0,1      ONLY=gameyard      ROOMS=2000   idle ones (0: none)
//   RATE=0       inputs a second from each player (20). 0: one for each state that the player receives. The work for
//                each delivery is then the same on a machine that does other things too.
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { cpuSeconds, jsonLines, residentMb, startPinned } from './pinned-process.ts'
import { measureRooms } from './rooms/measure.ts'

const SECONDS = Number(process.env.SECONDS ?? 5)
const ROOMS = Number(process.env.ROOMS ?? 2000)
const rate = Number(process.env.RATE ?? 20)
const ALL = [
  { rooms: 50, players: 8, rate },
  { rooms: 300, players: 4, rate },
]
const scenarios = (process.env.SCENARIOS?.split(',').filter(Boolean) ?? ['0', '1']).map(
  (at) => ALL[Number(at)] as (typeof ALL)[0],
)
const subjects = process.env.ONLY?.split(',') ?? ['colyseus', 'gameyard']

const FOLDER = join(import.meta.dirname, 'authority')

/** Opens idle rooms with a small script. */
async function measureIdle() {
  const server = startPinned(0, join(FOLDER, 'servers.ts'), 'gameyard', 'small')
  const pid = server.pid as number
  try {
    const listening = (await jsonLines(server).next()).value
    server.stdout?.resume()
    if (!listening) throw new Error('gameyard did not start')
    const before = residentMb(pid)
    const cpuBefore = cpuSeconds(pid)
    const load = startPinned(1, join(FOLDER, 'rooms.ts'), JSON.stringify({ ...listening, rooms: ROOMS }))
    try {
      const { times } = (await jsonLines(load).next()).value as { times: number[] }
      const [cold = 0, ...warm] = times
      warm.sort((a, b) => a - b)
      const quantile = (part: number) => warm[Math.floor(warm.length * part)] ?? 0
      const cpuMs = ((cpuSeconds(pid) - cpuBefore) * 1000) / ROOMS
      return { cold, p50: quantile(0.5), p99: quantile(0.99), cpuMs, memoryMb: residentMb(pid) - before }
    } finally {
      load.kill('SIGTERM')
    }
  } finally {
    server.kill('SIGTERM')
  }
}

const day = new Date().toISOString().slice(0, 10)
const machine = `${cpus()[0]?.model} × ${cpus().length}, Linux ${release()}`
console.log(`${day}, Node ${process.version}, ${machine}, ${SECONDS} s each\n`)
console.log(
  '| rooms × players | server | states/s | per CPU-second | to Colyseus | p50 ms | p99 ms | KiB a room |\n|---|---|---:|---:|---:|---:|---:|---:|',
)
for (const scenario of scenarios) {
  let peer = Number.NaN
  for (const subject of subjects) {
    const { delivered, cpu, p50, p99, ...memory } = await measureRooms(FOLDER, {
      subject,
      ...scenario,
      seconds: SECONDS,
    })
    if (subject === 'colyseus') peer = delivered / cpu
    const cells = [
      `${scenario.rooms} × ${scenario.players}`,
      subject,
      Math.round(delivered / SECONDS),
      Math.round(delivered / cpu),
      (delivered / cpu / peer).toFixed(2),
      p50?.toFixed(1),
      p99?.toFixed(1),
      Math.round(((memory.after - memory.before) * 1024) / scenario.rooms),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}
if (ROOMS > 0) {
  const { cold, p50, p99, cpuMs, memoryMb } = await measureIdle()
  const kib = (memoryMb * 1024) / ROOMS
  console.log('\n| idle rooms | MB | KiB a room | rooms a GiB |\n|---:|---:|---:|---:|')
  console.log(`| ${ROOMS} | ${Math.round(memoryMb)} | ${Math.round(kib)} | ${Math.round(1024 ** 2 / kib)} |`)
  console.log(
    '\n| first message after, ms: the first room | p50 of the others | p99 | CPU a room |\n|---:|---:|---:|---:|',
  )
  console.log(`| ${[cold, p50, p99, cpuMs].map((ms) => ms.toFixed(1)).join(' | ')} |`)
}
