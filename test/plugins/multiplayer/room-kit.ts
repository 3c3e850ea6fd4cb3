import type { RoomLimits } from '../../../plugins/multiplayer/room/limits.ts'
import type { Link } from '../../../plugins/multiplayer/room/member.ts'
import { Room } from '../../../plugins/multiplayer/room/room.ts'
import { manualClock } from '../../kit/driver-context.ts'
import { framesIn } from './kit.ts'

const LIMITS: RoomLimits = {
  players: 5,
  messagesPerSecond: 60,
  messageBurst: 120,
  frameBytes: 16 * 1024,
  stateBytes: 1000,
  presenceBytes: 200,
  resumeSeconds: 30,
  hostPatienceSeconds: 60,
  replayFrames: 256,
  replayBytes: 100_000,
}

/** Records the frames of one connection. The room sends frames before the test reads them. */
export class RecordingLink implements Link {
  /** The frames sent so far. */
  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  readonly arrived: any[] = []
  readonly #room: () => Room
  closed: number | null = null

  constructor(room: () => Room) {
    this.#room = room
  }

  write(bytes: Buffer): void {
    if (this.closed !== null) throw new Error('Something was sent after the end.')
    this.arrived.push(...framesIn(bytes))
  }

  close(code: number): void {
    if (this.closed !== null) throw new Error('Closed twice.')
    this.closed = code
  }

  get received() {
    this.#room().seal()?.deliver()
    return this.arrived
  }

  /** Returns the frames received since the last call. */
  take() {
    return this.received.splice(0)
  }
}

/** A room without sockets, whose clock the test moves. */
export function makeRoom(limits: Partial<RoomLimits> = {}, tokenName = 'token') {
  const clock = manualClock()
  let tokens = 0
  const room = new Room('lobby', {
    clock,
    limits: { ...LIMITS, ...limits },
    newToken: () => `${tokenName}${++tokens}`,
    wake: () => {},
    onEmpty: () => {},
    durable: true,
  })
  const newConnection = () => new RecordingLink(() => room)
  const enter = (sub: string, acks = false) => {
    const connection = newConnection()
    const member = room.join({ sub, name: sub.toUpperCase(), imageUrl: null, guest: false }, connection, acks)
    const say = (message: unknown) => room.receive(member, JSON.stringify(message))
    return { connection, member, say }
  }
  return { room, clock, enter, newConnection }
}
