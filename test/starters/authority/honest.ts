import { EventEmitter, once } from 'node:events'
import type WebSocket from 'ws'
import type { Victim } from './cheats.ts'
import { PACE, Referee } from './referee.ts'

/** A player of the starter `authority` who keeps to the rules, and sees all. */
export interface Honest {
  victim: Victim
  referee: Referee
  /** The results of the last round that the script has not recorded yet. */
  readonly open: readonly unknown[]
  /** Stands still from now on, so that further rounds bring nothing. */
  rest(): void
  /** Resolves when something holds after a frame. */
  until(holds: () => boolean): Promise<void>
  /** Resolves when another step was compared. */
  step(): Promise<void>
}

/** Walks from edge to edge, so that there is always a step to compare with. */
export async function playHonestly(socket: WebSocket): Promise<Honest> {
  const frames = new EventEmitter()
  let referee: Referee | null = null
  let you = ''
  let resume = ''
  let open: readonly unknown[] = []
  const direction: { x: number; y: number } = { ...PACE }
  const steer = () => socket.send(JSON.stringify({ t: 'send', type: 'steer', data: direction }))
  socket.on('message', (data, isBinary) => {
    const frame = isBinary ? { t: 'binary' } : JSON.parse(String(data))
    if (frame.t === 'welcome') {
      you = frame.you
      resume = frame.resume
      referee = new Referee(frame)
      steer()
    } else referee?.receive(frame)
    if (frame.set?.results) open = frame.set.results
    const me = referee?.placeOf(you)
    for (const axis of ['x', 'y'] as const) {
      const at = me?.[axis] ?? 300
      if ((at > 540 && direction[axis] > 0) || (at < 60 && direction[axis] < 0)) {
        direction[axis] = -direction[axis]
        steer()
      }
    }
    frames.emit('frame')
  })
  // A wait ends when the room sends the player away, with what the room said.
  socket.on('close', (code, reason) => frames.emit('error', new Error(`The room closed: ${code} ${reason}`)))
  frames.on('error', () => {})
  while (!referee) await once(frames, 'frame', { signal: AbortSignal.timeout(30_000) })
  const until = async (holds: () => boolean) => {
    while (!holds()) await once(frames, 'frame', { signal: AbortSignal.timeout(60_000) })
  }
  return {
    victim: { id: you, resume },
    referee,
    get open() {
      return open
    },
    rest() {
      Object.assign(direction, { x: 0, y: 0 })
      steer()
    },
    until,
    async step() {
      const before = referee?.compared ?? 0
      await until(() => (referee?.compared ?? 0) > before)
    },
  }
}

/**
 * Has both players stand still, and waits until everything that they have collected is recorded. Rounds that end later
 * bring nothing.
 *
 * @param send sends a frame of the other player
 */
export async function settle(honest: Honest, send: (frame: string) => Promise<unknown>): Promise<void> {
  const { results } = honest.referee
  honest.rest()
  await send('{"t":"send","type":"steer","data":{"x":0,"y":0}}')
  // One round may end before the script has heard of it, and another one has what was collected until then.
  for (let round = 0; round < 3; round++) {
    const seen = results.length
    await honest.until(() => results.length > seen)
  }
  await honest.until(() => honest.open.length === 0)
}
