import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { binaryFrame, type RoomPlayer, textFrame } from '../room/frames.ts'
import type { Account } from '../room/member.ts'
import type { Room } from '../room/room.ts'
import type { ScriptEvents } from '../room/script-events.ts'
import { ErrorCounts, MOST_ERRORS } from './error-counts.ts'
import type { RoomScript, ScriptLogLine, ScriptStatus } from './interface.ts'
import { type LogText, ScriptLog } from './log.ts'
import { applyOperations, type ScriptOperations, type ScriptSettings, WITHOUT_ROOM } from './operations.ts'
import { PlayerAllowances } from './player-allowances.ts'
import type { Failure, ScriptLimits, Usage } from './protocol.ts'
import { Allowance } from './sandbox/processor-time.ts'
import type { ScriptThread, ThreadRoom } from './script-thread.ts'
import type { ScriptThreads } from './script-threads.ts'
import type { ScriptServices } from './services.ts'
import { WaitingEvents } from './waiting-events.ts'

/** The sender of a script's bytes: no player has this index. */
const SCRIPT_INDEX = 0xff_ff
/** A room starts again after its thread was lost so many times, for which others were to blame. */
const MOST_MOVES = 10
/** The time for the answer of a script, on a machine that does other things too. */
const ANSWER_MS = 10_000
/**
 * How long the accounts of players who have left are kept for scores and saves. The script may ask for ten seconds, and
 * it may be late.
 */
const FAREWELL_MS = 30_000
/** The longest wait for a script whose room is over: for its `close`, and for scores and saves. */
const CLOSING_MS = 5000
/** Scores and saves, a second and at once: each may cost a transaction. */
const REQUESTS = { perSecond: 50, atOnce: 200 }

export interface RunningScriptParts {
  clock: Clock
  gameId: string
  isPreview: boolean
  limits: ScriptLimits
  threads: ScriptThreads
  services: ScriptServices
  /** The scripts whose rooms are over, until they are over too. */
  closing: Set<RunningScript>
  log: (line: ScriptLogLine) => void
  /** Called when the script can't go on; its players are to be sent away. */
  onFailed: (failure: Failure) => void
  /** Called with the script's snapshot as JSON, about once a second while things happen. */
  onSnapshot: (data: string) => void
}

/** A refusal by the script: the reason it gave, or an empty text. */
export type ScriptRefusal = { reason: string }

/**
 * The script of one room, which runs in another thread: it hears events in the room's order, and what it asks for is
 * done when its answer arrives. Between the two the room goes on.
 */
export class RunningScript implements ScriptEvents, ThreadRoom {
  readonly script: RoomScript
  relay = false
  clientState = false
  /** Whether lists for players show the room. */
  listed = true
  readonly #opening = Promise.withResolvers<void>()
  /** Resolves when the room is open; rejects when it could not be opened. */
  readonly opened: Promise<void> = this.#opening.promise
  readonly #ending = Promise.withResolvers<void>()
  /** Resolves when the script is over: its room has ended, and what it still asked for is done. */
  readonly ended: Promise<void> = this.#ending.promise
  readonly #room: Room
  readonly #parts: RunningScriptParts
  readonly #log: ScriptLog
  readonly #operations: ScriptOperations = this.#makeOperations()
  /** What a script may still do when its room is over. */
  readonly #lastOperations: ScriptOperations = { ...this.#operations, ...WITHOUT_ROOM }
  #thread: ScriptThread | null = null
  #number = 0
  readonly #events = new WaitingEvents()
  /** The time of the first message since events were sent. */
  #began = 0
  readonly #fromPlayers = new PlayerAllowances()
  /** Messages that were left out since the last time that events were sent. */
  #leftOut = 0
  readonly #requests: Allowance
  readonly #questions = new Map<number, PromiseWithResolvers<ScriptRefusal | null>>()
  #asked = 0
  #snapshot: string | null
  #waitingForSnapshot: (() => void)[] = []
  readonly #errors = new ErrorCounts()
  #moves = 0
  #isOver = false
  /** Set while the room is over, and the script is not. */
  #closing: NodeJS.Timeout | null = null
  /** The requests that a closing script waits for. */
  #openRequests = Infinity
  /** The accounts of players who have left, by the players' ids. */
  readonly #formerAccounts = new Map<string, { account: Account; leftAt: number }>()
  #usage: { cpuShare: number; memoryBytes: number } = { cpuShare: 0, memoryBytes: 0 }
  #lastError: ScriptStatus['lastError'] = null

  /** @param snapshot JSON of the script's last snapshot, when the room comes from another node */
  constructor(room: Room, script: RoomScript, snapshot: string | null, parts: RunningScriptParts) {
    this.#room = room
    this.script = script
    this.#snapshot = snapshot
    this.#parts = parts
    this.#requests = new Allowance(REQUESTS.perSecond, REQUESTS.atOnce, performance.now())
    this.#log = new ScriptLog({ roomId: room.id, deployId: script.deployId, path: script.path }, parts.log)
    // Who waits for it handles the error; a room that nobody waits for has none who would.
    this.opened.catch(() => {})
    this.#open()
  }

  get gameId(): string {
    return this.#parts.gameId
  }

  get status(): ScriptStatus {
    this.#thread?.measure()
    const { deployId, digest } = this.script
    return { deployId, digest, ...this.#usage, lastError: this.#lastError }
  }

  /**
   * Asks the script whether a player may join. The player is then in its list, once its answer is known.
   *
   * @throws Error when it does not answer in time; it may still admit the player
   */
  async join(player: RoomPlayer): Promise<ScriptRefusal | null> {
    if (this.#isOver || this.#closing) throw new Error('the room has ended')
    const question = ++this.#asked
    const asked = Promise.withResolvers<ScriptRefusal | null>()
    this.#questions.set(question, asked)
    this.#add(`"j",${JSON.stringify(player)},${question}`)
    const timeout = setTimeout(() => {
      const text = `The script did not decide within ${ANSWER_MS / 1000} seconds whether ${player.name} may join.`
      this.#note({ name: '', message: text, stack: '' })
      asked.reject(new Error('the script does not answer'))
    }, ANSWER_MS)
    try {
      return await asked.promise
    } finally {
      clearTimeout(timeout)
      this.#questions.delete(question)
    }
  }

  message(id: string, type: string, data: unknown): void {
    this.#addFrom(id, `"m","${id}",${JSON.stringify(type)},${JSON.stringify(data)}`)
  }

  binary(id: string, bytes: Buffer): void {
    this.#addFrom(id, `"b","${id}",${bytes.length}`, bytes)
  }

  presence(id: string, data: unknown): void {
    this.#addFrom(id, `"p","${id}",${JSON.stringify(data)}`)
  }

  written(set: Record<string, unknown>, del: string[]): void {
    this.#add(`"s",${JSON.stringify(set)},${JSON.stringify(del)}`)
  }

  left(id: string, reason: string, account: Account): void {
    this.#fromPlayers.forget(id)
    const now = performance.now()
    for (const [former, { leftAt }] of this.#formerAccounts)
      if (now - leftAt > FAREWELL_MS) this.#formerAccounts.delete(former)
    this.#formerAccounts.set(id, { account, leftAt: now })
    this.#add(`"l","${id}","${reason}"`)
  }

  /** Takes a snapshot now, for a move to another node. Resolves in any case. @returns JSON, or null */
  async takeSnapshot(timeoutMs: number): Promise<string | null> {
    if (this.#isOver || this.#closing) return null
    await new Promise<void>((resolve) => {
      const timeout = setTimeout(resolve, timeoutMs)
      this.#waitingForSnapshot.push(() => {
        clearTimeout(timeout)
        resolve()
      })
      this.#add('"n"')
    })
    return this.#snapshot
  }

  /** Ends the script because its room is over. It hears of it, and what it still scores, saves and logs is done. */
  close(): void {
    if (this.#isOver || this.#closing) return
    this.#add('"c"')
    this.#flush()
    this.#stopWaiting('The room has ended.')
    this.#parts.closing.add(this)
    this.#closing = setTimeout(() => this.#finish('The room has ended.'), CLOSING_MS).unref()
  }

  /** Ends the script because another node goes on with its room. */
  end(): void {
    if (!this.#isOver) this.#finish('The room has moved.')
  }

  receive(operations: string): void {
    if (this.#isOver) return
    try {
      applyOperations(operations, this.#closing ? this.#lastOperations : this.#operations)
    } catch {
      this.failed({ reason: 'crash', text: 'The script’s thread answered with something else than operations.' })
    }
    if (this.#closing && this.#openRequests === 0) this.#finish('The room has ended.')
  }

  failed(failure: Failure): void {
    if (this.#isOver) return
    this.#note({ name: '', message: failure.text, stack: failure.stack ?? '' }, 'fatal')
    const hasRoom = !this.#closing
    this.#finish(failure.text)
    if (hasRoom) this.#parts.onFailed(failure)
  }

  moved(): void {
    this.#thread = null
    if (this.#isOver) return
    if (this.#closing) this.#finish('The room has ended.')
    else if (++this.#moves > MOST_MOVES)
      this.failed({ reason: 'crash', text: 'The thread of the room ended repeatedly.' })
    else this.#open()
  }

  used({ cpuShare, memoryBytes }: Usage): void {
    this.#usage = { cpuShare, memoryBytes }
  }

  #open(): void {
    const { limits, threads } = this.#parts
    const { source, path } = this.script
    // Events for the lost thread are contained in the room's present state, except messages, which are lost.
    this.#events.clear()
    this.#endQuestions('the script starts again')
    const players = JSON.stringify(this.#room.members.expected)
    const present = `${players},${this.#room.stateJson}`
    const seed = randomBytes(16)
    try {
      this.#thread = threads.take(this.#parts.gameId)
      this.#number = this.#thread.open(this, {
        roomId: this.#room.id,
        source,
        path,
        limits,
        seed: [0, 4, 8, 12].map((at) => seed.readInt32LE(at)),
        players: this.#room.capacity,
        event: this.#snapshot === null ? `"o",${present}` : `"R",${present},${this.#snapshot}`,
      })
    } catch (error) {
      queueMicrotask(() => this.failed({ reason: 'crash', text: (error as Error).message }))
    }
  }

  /** Nobody waits for a script that has ended. */
  #finish(reason: string): void {
    this.#flush()
    this.#isOver = true
    clearTimeout(this.#closing ?? undefined)
    this.#closing = null
    this.#thread?.close(this.#number)
    if (this.#thread) this.#parts.threads.rest(this.#thread)
    this.#thread = null
    this.#stopWaiting(reason)
    this.#parts.closing.delete(this)
    this.#ending.resolve()
  }

  #stopWaiting(reason: string): void {
    for (const done of this.#waitingForSnapshot.splice(0)) done()
    this.#opening.reject(new Error(reason))
    this.#endQuestions(reason)
  }

  #endQuestions(reason: string): void {
    for (const { reject } of this.#questions.values()) reject(new Error(reason))
  }

  #add(event: string, mayWait = false, bytes: Buffer | null = null): void {
    if (this.#isOver) return
    if (this.#events.isEmpty) this.#thread?.schedule(this.#flushNow)
    this.#events.add(event, mayWait, bytes)
  }

  /** Adds a message of a player, unless the player sends too much, or the thread is given too little time for it. */
  #addFrom(id: string, event: string, bytes: Buffer | null = null): void {
    const size = event.length + (bytes?.length ?? 0)
    if (this.#events.isEmpty) this.#began = performance.now()
    if (this.#events.isFull || !this.#fromPlayers.take(id, size, this.#began)) this.#leftOut++
    else this.#add(event, true, bytes)
  }

  readonly #flushNow = () => this.#flush()

  #flush(): void {
    if (this.#events.isEmpty || !this.#thread) return
    for (const { events, bytes, mayWait } of this.#events.take()) this.#thread.run(this.#number, events, bytes, mayWait)
    if (this.#leftOut === 0) return
    const text = `${this.#leftOut} messages of players were left out: one player sent too much, or the machine is too busy.`
    this.#leftOut = 0
    this.#log.error(this.#parts.clock.now().getTime(), { name: '', message: text, stack: '' })
  }

  #note(error: LogText, level: 'error' | 'fatal' = 'error'): void {
    const line = this.#log.error(this.#parts.clock.now().getTime(), error, level)
    this.#lastError = { text: line.text, line: line.line ?? null, column: line.column ?? null, at: line.at }
  }

  /** @param player the id of the player whose message caused it; empty when none did */
  #threw(error: LogText, player = ''): void {
    this.#note(error)
    const now = this.#parts.clock.now().getTime()
    if (player === '') {
      if (this.#errors.add('', now))
        this.failed({ reason: 'crash', text: `The script threw ${MOST_ERRORS} exceptions within a minute.` })
      return
    }
    // What somebody has sent who is gone by now harms nobody.
    const account = this.#room.members.accounts.get(player)
    if (!account || !this.#errors.add(account.sub, now)) return
    const message = `${account.name} was removed: ${MOST_ERRORS} of their messages made the script throw within a minute.`
    this.#note({ name: '', message, stack: error.stack })
    this.#room.kick(player, 'Your messages made the script of the room fail.')
  }

  #opened(settings: ScriptSettings): void {
    this.relay = settings.relay === true
    this.clientState = settings.clientState === true
    this.listed = settings.listed
    const { players } = settings
    if (typeof players === 'number' && players >= 1) this.#room.capacity = Math.min(players, this.#room.capacity)
    this.#opening.resolve()
  }

  /** Returns what answers a request. After a move another sandbox counts its requests from zero, and did not ask for this. */
  #answerTo(id: number): (value: unknown, error: { code: string; message: string } | null) => void {
    const [thread, number] = [this.#thread, this.#number]
    return (value, error) => {
      if (this.#thread !== thread || this.#number !== number) return
      this.#add(`"r",${id},${JSON.stringify(value ?? null)},${JSON.stringify(error)}`)
    }
  }

  #makeOperations(): ScriptOperations {
    const room = () => this.#room
    return {
      isOver: () => this.#isOver,
      send: (ids, frame) => room().tell(ids, textFrame(frame)),
      sendBinary: (ids, bytes) => room().tell(ids, binaryFrame(SCRIPT_INDEX, bytes)),
      write: (set, del) => {
        const fault = room().writeState(null, set, del)
        if (fault) this.#threw({ name: 'RangeError', message: fault.message, stack: '' })
      },
      kick: (id, reason) => room().kick(id, reason),
      lock: (locked) => room().setLocked(locked),
      makeHost: (id) => room().makeHost(id),
      log: (text) => this.#log.log(this.#parts.clock.now().getTime(), text),
      threw: (error, player) => this.#threw(error, player),
      requestFailed: (error) => this.#note(error),
      decided: (question, refusal) =>
        this.#questions.get(question)?.resolve(refusal === null ? null : { reason: refusal }),
      request: (id, kind, values) => {
        if (this.#requests.at(performance.now()) < 1) {
          const message = `A room may ask for ${REQUESTS.perSecond} scores and saves a second, and ${REQUESTS.atOnce} at once.`
          this.#answerTo(id)(null, { code: 'rate_limited', message })
          return
        }
        this.#requests.use(1)
        const accounts = room().members.accounts
        const accountOf = (id: string) => accounts.get(id) ?? this.#formerAccounts.get(id)?.account
        const { gameId, isPreview } = this.#parts
        const answer = this.#answerTo(id)
        this.#parts.services.perform({ gameId, isPreview, accountOf, kind, values }).then(
          (value) => answer(value, null),
          ({ code, message }) => answer(null, { code: String(code ?? 'failed'), message: String(message) }),
        )
      },
      opened: (settings) => this.#opened(settings),
      snapshot: (data) => {
        this.#snapshot = data
        this.#parts.onSnapshot(data)
        for (const done of this.#waitingForSnapshot.splice(0)) done()
      },
      closed: (openRequests) => {
        this.#openRequests = openRequests
      },
    }
  }
}
