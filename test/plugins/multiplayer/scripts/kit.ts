import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../../../core/clock.ts'
import { folderSource } from '../../../../core/data/built-files.ts'
import { WorkerPrograms } from '../../../../core/jobs/worker-programs.ts'
import type { HostedRoom } from '../../../../plugins/multiplayer/hosting/hosted-room.ts'
import { Rooms } from '../../../../plugins/multiplayer/hosting/rooms.ts'
import { WriteCoalescer } from '../../../../plugins/multiplayer/hosting/write-coalescing.ts'
import type { Link, Member } from '../../../../plugins/multiplayer/room/member.ts'
import type { RoomScript, ScriptLogLine } from '../../../../plugins/multiplayer/scripts/interface.ts'
import { ScriptRuntime } from '../../../../plugins/multiplayer/scripts/script-runtime.ts'
import type { ScriptBackends } from '../../../../plugins/multiplayer/scripts/services.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { framesIn } from '../kit.ts'

const LIMITS = {
  roomPlayers: 100,
  roomMessagesPerSecond: 10_000,
  roomMessageBurst: 10_000,
  roomFrameBytes: 16 * 1024,
  roomStateBytes: 256 * 1024,
  roomPresenceBytes: 2048,
  roomUnsentBytes: 1024 * 1024,
  roomResumeSeconds: 30,
  roomReplayFrames: 256,
  roomSocketsPerPlayer: 20,
  roomGuestSocketsPerAddress: 200,
  roomPingSeconds: 25,
  roomScriptBytes: 16 * 1024 * 1024,
  roomScriptsBytes: 0,
  roomScriptMs: 20,
  roomScriptShare: 0.2,
}

export const scriptOf = (source: string): RoomScript => ({
  digest: 'digest',
  deployId: 'deploy',
  path: 'room.js',
  source,
})

/** A player of a room without a socket, who records what arrives. */
export class ScriptPlayer implements Link {
  // biome-ignore lint/suspicious/noExplicitAny: frames of any type
  readonly received: any[] = []
  closed: { code: number; reason: string } | null = null
  readonly #changes = new EventEmitter()
  member!: Member
  hosted!: HostedRoom

  write(bytes: Buffer): void {
    this.received.push(...framesIn(bytes))
    this.#changes.emit('change')
  }

  close(code: number, reason: string): void {
    this.closed = { code, reason }
    this.#changes.emit('change')
  }

  send(type: string, data?: unknown): void {
    this.say({ t: 'send', type, data })
  }

  say(message: object): void {
    this.hosted.room.receive(this.member, JSON.stringify(message))
  }

  /** Returns the next frame of a type, or the next message of a name, and waits for it. */
  async next(name: string) {
    for (;;) {
      const at = this.received.findIndex(({ t, type }) => t === name || (t === 'msg' && type === name))
      if (at !== -1) return this.received.splice(at, 1)[0]
      if (this.closed) throw new Error(`The player was sent away: ${this.closed.code} ${this.closed.reason}`)
      await once(this.#changes, 'change', { signal: AbortSignal.timeout(30_000) })
    }
  }

  /** Waits for the close. */
  async end() {
    while (!this.closed) await once(this.#changes, 'change', { signal: AbortSignal.timeout(30_000) })
    return this.closed
  }
}

/** Rooms with scripts in real threads, without sockets. */
export function startScripts(
  t: Test,
  { backends = null, limits = {} }: { backends?: ScriptBackends | null; limits?: Partial<typeof LIMITS> } = {},
) {
  const lines: ScriptLogLine[] = []
  let loaded: RoomScript | null = null
  const { log } = driverContext()
  const all = { ...LIMITS, ...limits }
  const programs = new WorkerPrograms(folderSource(join(import.meta.dirname, '../../../../dist/browser')))
  const scripts = new ScriptRuntime({
    clock: systemClock,
    log,
    limits: all,
    backends,
    program: () => programs.text('script-sandbox'),
    load: async () => loaded,
  })
  scripts.logs = { append: (_game, added) => lines.push(...added) }
  const coalescer = new WriteCoalescer()
  const rooms = new Rooms({ clock: systemClock, limits: all, coalescer, log, scripts, count: () => {} })
  t.teardown(() => scripts.close())
  let names = 0

  /** Opens a room of a game with a script. */
  async function open(source: string, { game = 'game', room = 'lobby' } = {}): Promise<HostedRoom> {
    loaded = scriptOf(source)
    const script = await scripts.scriptFor(game, { from: 'live' })
    return rooms.open(game, room, { maxPlayers: 100, hostPatienceSeconds: 5, script })
  }

  /** Enters a room, which must admit the player. */
  async function enter(hosted: HostedRoom, sub = `player${++names}`): Promise<ScriptPlayer> {
    const account = { sub, name: sub.toUpperCase(), imageUrl: null, guest: false }
    const { refusal, reason, reservation } = await hosted.admit({ account, resume: null })
    if (refusal || !reservation) throw new Error(`refused: ${refusal} ${reason}`)
    const player = new ScriptPlayer()
    player.hosted = hosted
    player.member = hosted.room.claim(reservation, account, player) as Member
    return player
  }
  return { scripts, rooms, lines, open, enter }
}
