import { noteSent, resolveConflict } from './conflicts.ts'
import type { LastWrites } from './last-write.ts'
import type { Listeners } from './listeners.ts'
import type { CurrentPlayer } from './player.ts'
import { FIRST_WAIT_MS, RetryDelay, waitAfter } from './retry-delay.ts'
import type { Server } from './server.ts'
import type { Entry, Pending, Store } from './store.ts'
import { isOtherPlayer, SaveError, type SaveStatus } from './types.ts'

/** The time until a refused save is tried again, for example after the player has made room. */
const REFUSED_MS = 60_000
/** The time after which the game hears why a save does not get to the server. */
const STUCK_MS = 10_000

export interface SenderParts {
  server: Server
  player: CurrentPlayer
  listeners: Listeners
  lastWrites: LastWrites
  /** Opens the store; null where the browser keeps nothing. */
  store(): Promise<Store | null>
  /** Takes over what former pages have left. */
  recover(): Promise<void>
  /** Another value than this page's has come out of a conflict. */
  replaced(entry: Entry): void
  /** A change is on the server, which gave it a version; null: the save is deleted. */
  sent(account: string, key: string, version: number | null): void
}

/** Sends the changes of the player in their order. */
export class Sender {
  /** The number of the change whose answer has not come yet. */
  inFlight: number | null = null
  readonly #parts: SenderParts
  /** What waits on this device is not known before the first look. */
  #status: SaveStatus = 'saving'
  #sending: Promise<void> | null = null
  readonly #delay = new RetryDelay()
  #isRetryWanted = false
  readonly #postponed = new Map<string, { until: number; isRefused: boolean }>()
  /** The number of times that the server has refused a save in a row because of its version. */
  readonly #conflicts = new Map<string, number>()
  /** Why the last attempt has failed; null after one that has not. */
  #failure: { key: string; code: string; message: string } | null = null
  #stuck: ReturnType<typeof setTimeout> | undefined

  constructor(parts: SenderParts) {
    this.#parts = parts
  }

  get status(): SaveStatus {
    return this.#status
  }

  /** A save has another value, which the server may take. */
  changed(key: string): void {
    if (this.#postponed.get(key)?.isRefused) this.#postponed.delete(key)
    if (this.#status === 'saved') this.#setStatus('saving')
    this.retry()
  }

  /** The browser has lost its connection. */
  offline(): void {
    if (this.#status !== 'saved') this.#setStatus('offline')
  }

  /** Sends what waits, now. A call while changes are being sent makes them be looked at once more. */
  retry(): void {
    this.#isRetryWanted = true
    this.#delay.shorten()
    this.#sending ??= this.#send()
      .catch((error) => {
        this.#setStatus('offline')
        globalThis.reportError?.(error)
      })
      .finally(() => {
        this.#sending = null
        // The change may have come when the last look was under way.
        if (this.#isRetryWanted) this.retry()
      })
  }

  /** Sends the changes of the account in their order, until none waits or the server can't be reached. */
  async #send(): Promise<void> {
    const { player } = this.#parts
    const store = await this.#parts.store()
    this.#isRetryWanted = false
    // Where the browser keeps nothing, nothing waits.
    if (!store) return this.#setStatus('saved')
    for (let attempt = 0; ; ) {
      this.#isRetryWanted = false
      await player.confirm()
      await this.#parts.recover()
      const entry = await this.#next(store)
      if (!entry) return this.#setStatus(await this.#rest(store))
      let retryAfterMs: number | null = 0
      if (player.isConfirmed) {
        this.#setStatus('saving')
        retryAfterMs = await this.#sendOne(store, entry)
      } else this.#fail(entry.key, 'offline', 'The server cannot be reached.')
      if (retryAfterMs === null) attempt = 0
      else {
        this.#setStatus('offline')
        await this.#delay.wait(attempt++, { leastMs: retryAfterMs, isShort: this.#isRetryWanted })
      }
    }
  }

  /** Returns the first change of the account that may be sent. Signed out, nothing is. */
  async #next(store: Store): Promise<(Entry & { pending: Pending }) | undefined> {
    if (this.#parts.player.account === '') return undefined
    const now = performance.now()
    return (await store.all(this.#parts.player.account))
      .filter((entry): entry is Entry & { pending: Pending } => entry.pending !== null)
      .filter(({ key }) => (this.#postponed.get(key)?.until ?? 0) <= now)
      .sort((a, b) => a.pending.sequence - b.pending.sequence)[0]
  }

  /** Returns the status when nothing can be sent now. */
  async #rest(store: Store): Promise<SaveStatus> {
    const { account } = this.#parts.player
    const waiting = (await store.all(account)).filter(({ pending }) => pending !== null)
    if (waiting.length === 0) this.#succeed()
    if (waiting.length === 0) return 'saved'
    return account !== '' && waiting.every(({ key }) => this.#postponed.get(key)?.isRefused === false)
      ? 'saving'
      : 'offline'
  }

  /** @returns null when the change is done, else the shortest time in ms until the next attempt */
  async #sendOne(store: Store, entry: Entry & { pending: Pending }): Promise<number | null> {
    const { server, player, listeners, lastWrites } = this.#parts
    const { account, key, value, base } = entry
    const { sequence, isConflict } = entry.pending
    this.inFlight = sequence
    const outcome = await (lastWrites.take(sequence) ??
      (value ? server.put(account, key, value, base, isConflict) : server.delete(account, key, base)))
    this.inFlight = null
    if (outcome.kind === 'unreachable' || outcome.kind === 'signed-out') {
      // Meanwhile another player may sign in.
      player.doubt()
      this.#fail(key, outcome.code, outcome.message)
      return outcome.kind === 'unreachable' ? outcome.retryAfterMs : 0
    }
    if (outcome.kind === 'refused') {
      this.#postpone(key, REFUSED_MS, true)
      listeners.emit('error', { key, code: outcome.code, message: outcome.message })
      return null
    }
    if (outcome.kind !== 'conflict') {
      this.#succeed()
      this.#conflicts.delete(key)
      const version = outcome.kind === 'written' ? outcome.version : null
      if (await noteSent(store, entry, outcome)) lastWrites.note(key, version)
      this.#parts.sent(account, key, version)
      return null
    }
    const conflicts = (this.#conflicts.get(key) ?? 0) + 1
    this.#conflicts.set(key, conflicts)
    try {
      const { replaced } = this.#parts
      await resolveConflict({ store, server, ask: listeners.last('conflict'), replaced }, entry)
      // The first resolution is sent at once. One that is refused again waits, and the others are sent meanwhile.
      if (conflicts > 1) {
        this.#postpone(key, waitAfter(conflicts - 2), false)
        this.#fail(key, 'save_conflict', 'The server has another version each time.')
      }
      return null
    } catch (error) {
      const isOther = isOtherPlayer(error)
      if (isOther) player.doubt()
      if (isOther || (error instanceof SaveError && error.code === 'offline')) return FIRST_WAIT_MS
      // An error of the game's own listener must not stop the other saves.
      globalThis.reportError?.(error)
      this.#postpone(key, REFUSED_MS, true)
      return null
    }
  }

  /** Lets a save wait. The others are sent meanwhile. */
  #postpone(key: string, ms: number, isRefused: boolean): void {
    this.#postponed.set(key, { until: performance.now() + ms, isRefused })
    setTimeout(() => this.retry(), ms)
  }

  /** Notes a failed attempt. The game hears of it once, if none has succeeded for ten seconds. */
  #fail(key: string, code: string, message: string): void {
    this.#failure = { key, code, message }
    this.#stuck ??= setTimeout(() => {
      if (this.#failure) this.#parts.listeners.emit('error', this.#failure)
    }, STUCK_MS)
  }

  #succeed(): void {
    clearTimeout(this.#stuck)
    this.#stuck = undefined
    this.#failure = null
  }

  #setStatus(status: SaveStatus): void {
    if (status === this.#status) return
    this.#status = status
    this.#parts.listeners.emit('status', status)
  }
}
