// `npx node bench/rooms.ts`: messages that rooms deliver for each second of the server's CPU time, compared with Colyseus
// (`room.broadcast`, its own SDK as client), a plain `ws` loop and bare sockets written to every 8 ms, in one run.
// Server and players are separate processes, each on its own core where `taskset` is available.
//
//   SECONDS=20   of each measurement (5)      IDLE=10000   silent sockets for the memory (2000; 0: none)
//   HIGHEST=1    also the highest rate that each sustains with 99 % of messages under 50 ms
//   ONLY=gameyard,ws                          SCENARIOS=0,2
import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { type Measured, measureRooms } from './rooms/measure.ts'

const SECONDS = Number(process.env.SECONDS ?? 5)
const IDLE = Number(process.env.IDLE ?? 2000)
const ALL = [
  { rooms: 50, players: 8, rate: 20 },
  { rooms: 4, players: 50, rate: 10 },
  { rooms: 1, players: 200, rate: 5 },
]
const scenarios = (process.env.SCENARIOS?.split(',') ?? ['0', '1', '2']).map((at) => ALL[Number(at)] as (typeof ALL)[0])
const NAMES: Record<string, string> = {
  ws: '`ws`, stringify for each',
  colyseus: `Colyseus ${versionOf('@colyseus/core')}`,
  bare: 'bare sockets, 8 ms',
  gameyard: 'Gameyard',
}
const subjects = process.env.ONLY?.split(',') ?? Object.keys(NAMES)

function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../node_modules', name, 'package.json'), 'utf8')).version
}

const measure = (subject: string, scenario: (typeof ALL)[0]): Promise<Measured> =>
  measureRooms(join(import.meta.dirname, 'rooms'), { subject, ...scenario, seconds: SECONDS })

/** Doubles the rate until it is too high, then halves the interval twice: accurate to an eighth. */
async function highest(subject: string, scenario: (typeof ALL)[0]): Promise<{ rate: number; delivered: number }> {
  const { rooms, players } = scenario
  let good = { rate: 0, delivered: 0 }
  let bad = Infinity
  for (let rate = scenario.rate / 4; bad === Infinity || bad - good.rate > bad / 8; ) {
    const result = await measure(subject, { rooms, players, rate })
    const due = rooms * players * (players - 1) * rate * SECONDS
    if (result.p99 < 50 && result.delivered > due * 0.95) good = { rate, delivered: result.delivered }
    else bad = rate
    if (bad < 0.2) break
    rate = bad === Infinity ? rate * 2 : (good.rate + bad) / 2
  }
  return good
}

const day = new Date().toISOString().slice(0, 10)
console.log(
  `${day}, Node ${process.version}, ${cpus()[0]?.model} × ${cpus().length}, Linux ${release()}, ${SECONDS} s each\n`,
)
console.log(
  '| rooms × players @ messages/s | server | delivered/s | delivered per CPU-second | to Colyseus | p50 ms | p99 ms |',
)
console.log('|---|---|---:|---:|---:|---:|---:|')
for (const scenario of scenarios) {
  const results = new Map<string, Measured>()
  for (const subject of subjects) results.set(subject, await measure(subject, scenario))
  const efficiency = ({ delivered, cpu }: Measured) => delivered / cpu
  const peer = results.get('colyseus')
  for (const [subject, result] of results) {
    const ratio = peer ? (efficiency(result) / efficiency(peer)).toFixed(2) : ''
    const { rooms, players, rate } = scenario
    const cells = [
      `${rooms} × ${players} @ ${rate}`,
      NAMES[subject],
      Math.round(result.delivered / SECONDS),
      Math.round(efficiency(result)),
      ratio,
      result.p50?.toFixed(1),
      result.p99?.toFixed(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}
if (process.env.HIGHEST) {
  console.log('\n| rooms × players | server | highest rate a player, messages/s | delivered/s |\n|---|---|---:|---:|')
  for (const scenario of scenarios) {
    for (const subject of subjects) {
      const { rate, delivered } = await highest(subject, scenario)
      const cells = [`${scenario.rooms} × ${scenario.players}`, NAMES[subject], rate, Math.round(delivered / SECONDS)]
      console.log(`| ${cells.join(' | ')} |`)
    }
  }
}
if (IDLE > 0) {
  console.log(
    `\n| ${IDLE} silent sockets, rooms of 10 | RSS before, MB | with them, MB | KiB a socket |\n|---|---:|---:|---:|`,
  )
  for (const subject of subjects.filter((name) => name !== 'colyseus')) {
    const { before, after } = await measure(subject, { rooms: IDLE / 10, players: 10, rate: 0 })
    const each = ((after - before) * 1024) / IDLE
    console.log(`| ${NAMES[subject]} | ${before.toFixed(0)} | ${after.toFixed(0)} | ${each.toFixed(1)} |`)
  }
}
