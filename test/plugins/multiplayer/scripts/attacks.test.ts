import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { ALL, inFull } from '../../../kit/extent.ts'
import { processorLimit, timeLimit } from '../../../kit/time-limit.ts'
import { attacks, scriptOfAttack } from './attacks.ts'
import { type ScriptPlayer, startScripts } from './kit.ts'

/** The room beside the attacks, which answers and ticks. */
const NEIGHBOUR = `
  export const settings = { tick: 20 }
  let ticks = 0
  export function tick(room) { room.state.set('ticks', ++ticks) }
  export function message(room, player, type, data) { room.send('pong', data) }`

/** Asks the neighbour until it is told to stop. @returns how often it answered */
function playOn(player: ScriptPlayer) {
  let answers = 0
  let isOver = false
  const done = (async () => {
    for (let number = 0; !isOver; number++) {
      player.send('ping', number)
      while ((await player.next('pong')).data !== number);
      answers++
      await sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await done
    return answers
  }
}

/** Others may wait so much longer while a script attacks, in ms. */
const WAIT_MS = processorLimit(10)
/** A room that an attack ends has ended by then, in ms. */
const END_MS = timeLimit(10)
/** A garbage collection may fall into an attack, so it counts when it delays others each time. */
const TRIES = 12

/**
 * Returns the longest turn of this thread's event loop while something runs, in ms, and the result. This thread serves
 * the sockets of all rooms. The turns are measured by their processor time: on a machine that does other things too it
 * says more than a delay.
 */
async function longestTurn<T>(run: () => Promise<T>): Promise<{ longest: number; result: T }> {
  let before = processorMs()
  let longest = 0
  const measure = () => {
    const now = processorMs()
    longest = Math.max(longest, now - before)
    before = now
  }
  const timer = setInterval(measure, 1)
  try {
    const result = await run()
    measure()
    return { longest, result }
  } finally {
    clearInterval(timer)
  }
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Runs one attack. @returns what became of the room */
async function run(attack: (typeof attacks)[0], scripts: ReturnType<typeof startScripts>): Promise<'ends' | 'lives'> {
  const { open, enter } = scripts
  const hosted = await open(scriptOfAttack(attack), { game: 'attacker', room: 'attack' })
  const eve = await enter(hosted).catch(() => null)
  // The script failed before anybody was in.
  if (!eve) return 'ends'
  eve.send('attack')
  const answer = (async () => {
    for (let number = 0; number < 3; number++) {
      eve.send('alive', number)
      while ((await eve.next('alive')).data !== number);
    }
  })().catch(() => {})
  // A room can answer a few times before the attack begins, for example in its first tick.
  if (attack.room === 'ends') await Promise.race([eve.end(), sleep(END_MS, null, { ref: false })])
  else await Promise.race([answer, eve.end()])
  const escaped = eve.received.find(({ type }) => type === 'escaped')
  if (escaped) throw new Error(`The script got hold of ${JSON.stringify(escaped.data)}.`)
  if (eve.closed) {
    if (eve.closed.code !== 4010) throw new Error(`The room ended with ${eve.closed.code}.`)
    return 'ends'
  }
  hosted.room.leave(eve.member, eve, 'left')
  scripts.rooms.sweep()
  return 'lives'
}

t.test('no attack of a script reaches beyond its room', async (t) => {
  const scripts = startScripts(t, { limits: { roomMessagesPerSecond: 1e6, roomMessageBurst: 1e6 } })
  const neighbour = await scripts.open(NEIGHBOUR, { game: 'neighbour' })
  const player = await scripts.enter(neighbour)
  const stop = playOn(player)
  const chosen = attacks.filter((attack) => ALL || attack.short)
  t.ok(attacks.length >= 60, `${attacks.length} attacks`)
  for (const attack of chosen) {
    const { longest: quiet } = await longestTurn(() => sleep(50))
    try {
      let waited = Infinity
      for (let left = TRIES; left > 0 && waited > quiet + WAIT_MS; left--) {
        const { longest, result: became } = await longestTurn(() => run(attack, scripts))
        waited = Math.min(waited, longest)
        if (attack.room === 'either') t.pass(attack.name)
        else t.equal(became, attack.room, attack.name)
      }
      t.ok(waited <= quiet + WAIT_MS, `others wait ${waited.toFixed(1)} ms at most, before it ${quiet.toFixed(1)} ms`)
    } catch (error) {
      t.fail(attack.name, { found: (error as Error).message })
    }
  }
  t.ok((await stop()) > chosen.length, 'the neighbour answers throughout')
  t.equal(player.closed, null, 'the neighbour plays on')
  t.equal(scripts.lines.filter(({ roomId }) => roomId === 'lobby').length, 0, 'and has no errors')
})

/** Whether a thread of scripts is still in this process. An ended thread goes a moment later, and its memory with it. */
function hasThread(): boolean {
  const tasks = '/proc/self/task'
  if (!existsSync(tasks)) return false
  return readdirSync(tasks).some((task) => {
    try {
      return readFileSync(`${tasks}/${task}/comm`, 'utf8').trim() === 'room scripts'
    } catch {
      return false
    }
  })
}

inFull(t)?.test('the memory of attacks comes back', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const scripts = startScripts(t, { limits: { roomMessagesPerSecond: 1e6, roomMessageBurst: 1e6 } })
  const hostile = attacks.filter(({ room }) => room !== 'lives')
  const pass = async () => {
    for (const attack of hostile) await run(attack, scripts)
    while (scripts.scripts.threads > 0 || hasThread()) await sleep(100)
    collectGarbage()
    // The heap of this thread keeps what it once had for a while, which says nothing of the scripts.
    const { rss, heapTotal, heapUsed } = process.memoryUsage()
    return rss - heapTotal + heapUsed
  }
  // The first attacks bring the process to its working set.
  await pass()
  const before = Math.min(await pass(), await pass())
  // The allocator gives pages back now and then. A leak would be larger each time.
  let after = Infinity
  for (let left = 4; left > 0 && after > before * 1.1; left--) after = Math.min(after, await pass())
  t.ok(after <= before * 1.1, `${Math.round(before / 1e6)} MB before, ${Math.round(after / 1e6)} MB after`)
})
