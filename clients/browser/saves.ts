/**
 * Saves for browser games, without installing anything:
 *
 *   import { saves } from '/__service/saves.js'
 *   const progress = (await saves.get('progress')) ?? { level: 1 }
 *   await saves.set('progress', { level: 2 })
 *
 * What `set` has resolved for is on this device, and reaches the server: at once, when the network is back, or when a
 * page of the game opens again. Signed out it stays on the device, and goes to the account at the next sign-in.
 */
import { FRAME_SESSION_CHANGED } from './frame/hook.ts'
import { noteSent, resolveConflict } from './saves/conflicts.ts'
import { setOnServer } from './saves/direct-write.ts'
import { Journal, type JournalEntry } from './saves/journal.ts'
import { LastWrites } from './saves/last-write.ts'
import { Listeners } from './saves/listeners.ts'
import { FIRST_WAIT_MS, Pause, waitAfter } from './saves/pause.ts'
import { CurrentPlayer } from './saves/player.ts'
import { recover } from './saves/recover.ts'
import { type Outcome, Server } from './saves/server.ts'
import { current, type Entry, type Pending, Store } from './saves/store.ts'
import { SaveError, type SaveStatus, type SavesEvents, type SaveValue, type SetOptions } from './saves/types.ts'
import { decode, type Encoded, encode, encodeNow, mustBeKey } from './saves/values.ts'

export {
  type Conflict,
  SaveError,
  type SaveStatus,
  type SavesEvents,
  type SaveValue,
  type SetOptions,
} from './saves/types.ts'

/** The time until a refused save is tried again, for example after the player has made room. */
const REFUSED_MS = 60_000
/** The player has signed out, or another one has signed in. */
const OTHER_PLAYER = /^(unauthorized|other_player)$/

/** A change that the game has asked for. */
interface Change extends Pick<JournalEntry, 'key' | 'value' | 'setAt' | 'offset'> {
  options: SetOptions
}

export class Saves {
  readonly #server = new Server()
  readonly #listeners = new Listeners()
  readonly #ready: Promise<void>
  #store: Store | null = null
  readonly #player = new CurrentPlayer(this.#server, () => {
    this.#seen.clear()
    this.#lastWrites.forget()
  })
  /** What waits on this device is not known before the first look. */
  #status: SaveStatus = 'saving'
  #sending: Promise<void> | null = null
  readonly #pause = new Pause()
  readonly #journal = new Journal()
  readonly #lastWrites = new LastWrites(this.#server)
  #recovering: Promise<void> | null = null
  #isRetryWanted = false
  /** The number of the change whose answer has not come yet. */
  #inFlight: number | null = null
  readonly #refusedUntil = new Map<string, number>()
  /** The number of times that the server has refused a save in a row because of its version. */
  readonly #conflicts = new Map<string, number>()
  /** The versions of the player's saves that the server has named, where the browser keeps no copy. */
  readonly #seen = new Map<string, number>()

  constructor() {
    this.#ready = this.#open()
    const retry = () => this.#retry()
    globalThis.addEventListener?.('online', () => {
      this.#player.online()
      retry()
    })
    globalThis.addEventListener?.('offline', () => this.#setStatus('offline', { ifNotSaved: true }))
    globalThis.addEventListener?.('pageshow', retry)
    globalThis.addEventListener?.(FRAME_SESSION_CHANGED, () => {
      this.#player.doubt()
      retry()
    })
    globalThis.document?.addEventListener('visibilitychange', retry)
    void this.#ready.then(retry)
  }

  get status(): SaveStatus {
    return this.#status
  }

  /**
   * Reads a save: what this device has changed, else what the server has, else the last copy on this device.
   *
   * @returns parsed JSON, a Blob of another type, or undefined when there is no such save
   * @throws SaveError with the code `offline` when neither the server nor this device can tell
   */
  async get(key: string): Promise<SaveValue> {
    mustBeKey(key)
    try {
      return await this.#get(key)
    } catch (error) {
      if (!hasCode(error, OTHER_PLAYER)) throw error
      this.#player.doubt()
      return this.#get(key)
    }
  }

  async #get(key: string): Promise<SaveValue> {
    await this.#currentPlayer()
    // A device without a player has no copy of an account's saves, so only the server can tell, however slow it is.
    if (!this.#player.isConfirmed && this.#player.account === '') await this.#player.confirm()
    if (!this.#player.isKnown) throw new SaveError('offline', 'The server cannot be reached.')
    const account = this.#player.account
    const entry = await this.#entry(account, key)
    if (entry?.pending || account === '') return current(entry)
    try {
      const known = entry?.value ? entry.base : null
      const theirs = await this.#server.get(account, key, known)
      this.#lastWrites.note(key, theirs === 'same' ? known : (theirs?.version ?? null))
      if (theirs === 'same') return current(entry)
      this.#see(account, key, theirs?.version)
      if (theirs === undefined) await this.#keep({ account, key }, null)
      else
        await this.#keep({ account, key }, { value: { bytes: theirs.bytes, type: theirs.type }, base: theirs.version })
      return theirs && decode(theirs)
    } catch (error) {
      if (entry && hasCode(error, /^offline$/)) return current(entry)
      throw error
    }
  }

  /** Returns the version on the server that this device knows; null for none. It is for the option `if` of `set`. */
  async version(key: string): Promise<number | null> {
    await this.get(key)
    const entry = await this.#entry(this.#player.account, key)
    if (entry?.pending) return entry.base
    // A full device may have an old copy. Versions only grow.
    return Math.max(entry?.base ?? 0, this.#seen.get(key) ?? 0) || null
  }

  /**
   * Saves a value: JSON, a Blob, or bytes. Resolves when it can't be lost any more: on the disk of this device, or,
   * where the browser keeps nothing, on the server.
   *
   * @throws TypeError for a value that JSON can't express
   * @throws SaveError when neither this device nor the server takes it
   */
  async set(key: string, value: SaveValue, options: SetOptions = {}): Promise<void> {
    mustBeKey(key)
    if (value instanceof Blob) await this.#set(key, await encode(value), options)
    else await this.#set(key, encodeNow(value), options)
  }

  /** Deletes a save. The server keeps its versions for 30 days. */
  async delete(key: string): Promise<void> {
    mustBeKey(key)
    await this.#set(key, null, {})
  }

  /** Lists the keys of the player's saves. */
  async keys(): Promise<string[]> {
    await this.#currentPlayer()
    if (!this.#player.isConfirmed && this.#player.account === '') await this.#player.confirm()
    const account = this.#player.account
    const entries = (await this.#store?.all(account)) ?? []
    const listed = account === '' ? [] : await this.#server.list(account)
    const keys = new Set(listed ?? entries.filter(({ value }) => value).map(({ key }) => key))
    for (const { key, value, pending } of entries) {
      if (pending && value) keys.add(key)
      else if (pending) keys.delete(key)
    }
    return [...keys].sort()
  }

  /** Adds a listener. The returned function removes it. */
  on<Name extends keyof SavesEvents>(name: Name, listener: SavesEvents[Name]): () => void {
    return this.#listeners.add(name, listener)
  }

  async #open(): Promise<void> {
    this.#store = await Store.open()
    await this.#player.restore(this.#store)
  }

  /** Reads an entry of this device; undefined also while the browser fails to. */
  #entry(account: string, key: string): Promise<Entry | undefined> {
    return Promise.resolve(this.#store?.get(account, key)).catch(() => undefined)
  }

  #see(account: string, key: string, version: number | undefined): void {
    if (account !== this.#player.account) return
    if (version === undefined) this.#seen.delete(key)
    else this.#seen.set(key, version)
  }

  /** Notes the change before the first wait: a page that is being closed gets no further. */
  async #set(key: string, value: Encoded | null, options: SetOptions): Promise<void> {
    const change = { key, value, setAt: Date.now(), offset: this.#server.offset, options }
    const id = this.#journal.add({
      ...{ key, value, setAt: change.setAt, offset: change.offset },
      account: this.#player.settled,
      ...(options.if === undefined ? {} : { base: options.if }),
    })
    const isFirst = id !== null && options.if === undefined && this.#status === 'saved' && this.#player.isConfirmed
    const early = this.#lastWrites.send(isFirst ? this.#player.account : null, key, value)
    try {
      await this.#write(change, id, early)
    } finally {
      this.#journal.remove(id)
    }
  }

  async #write({ key, value, setAt, offset, options }: Change, id: string | null, early: Promise<Outcome> | null) {
    const account = await this.#currentPlayer()
    try {
      if (!this.#store) throw new SaveError('storage_full', 'The browser keeps nothing for this page.')
      await this.#store.change(async (changes) => {
        // Another page may have taken it from the journal already.
        if (id !== null && !(await changes.isNew(id))) return
        const entry = await changes.get(account, key)
        const base = options.if === undefined ? (entry?.base ?? null) : options.if
        const isInFlight = entry?.pending != null && entry.pending.sequence === this.#inFlight
        const former = isInFlight ? entry.value : entry?.pending?.former
        const pending = { sequence: await changes.sequence(), setAt, offset }
        if (early) this.#lastWrites.keep(pending.sequence, early)
        changes.put({ account, key, value, base, setAt, pending: { ...pending, ...(former ? { former } : {}) } })
      })
    } catch (error) {
      if (error instanceof TypeError) throw error
      const outcome = await setOnServer(this.#server, { account, key, value }, options)
      this.#see(account, key, outcome.kind === 'written' ? outcome.version : undefined)
      return
    }
    this.#refusedUntil.delete(key)
    if (this.#status === 'saved') this.#setStatus('saving')
    this.#retry()
  }

  /** Returns the player for a call of the game. */
  async #currentPlayer(): Promise<string> {
    await this.#ready
    await this.#player.settle()
    await this.#recover()
    return this.#player.account
  }

  /** Takes over what former pages have left, once. */
  #recover(): Promise<void> {
    const store = this.#store
    // A device without room tries again in the next page.
    if (store) this.#recovering ??= recover(store, this.#journal, this.#player.account).catch(() => {})
    return this.#recovering ?? Promise.resolve()
  }

  /** Sends what waits, now. A call while changes are being sent makes them be looked at once more. */
  #retry(): void {
    this.#isRetryWanted = true
    this.#pause.shorten()
    this.#sending ??= this.#send()
      .catch((error) => {
        this.#setStatus('offline')
        globalThis.reportError?.(error)
      })
      .finally(() => {
        this.#sending = null
        // The change may have come when the last look was under way.
        if (this.#isRetryWanted) this.#retry()
      })
  }

  /** Sends the changes of the account in their order, until none waits or the server can't be reached. */
  async #send(): Promise<void> {
    await this.#ready
    const store = this.#store
    this.#isRetryWanted = false
    // Where the browser keeps nothing, nothing waits.
    if (!store) return this.#setStatus('saved')
    for (let attempt = 0; ; ) {
      this.#isRetryWanted = false
      await this.#player.confirm()
      await this.#recover()
      const entry = await this.#next(store)
      if (!entry) return this.#setStatus((await this.#waits(store)) ? 'offline' : 'saved')
      if (!this.#player.isConfirmed) {
        this.#setStatus('offline')
        await this.#pause.wait(attempt++, { isShort: this.#isRetryWanted })
        continue
      }
      this.#setStatus('saving')
      const retryAfterMs = await this.#sendOne(store, entry)
      if (retryAfterMs === null) attempt = 0
      else {
        this.#setStatus('offline')
        await this.#pause.wait(attempt++, { leastMs: retryAfterMs, isShort: this.#isRetryWanted })
      }
    }
  }

  /** Returns the first change of the account that may be sent. Signed out, nothing is. */
  async #next(store: Store): Promise<(Entry & { pending: Pending }) | undefined> {
    if (this.#player.account === '') return undefined
    const now = performance.now()
    return (await store.all(this.#player.account))
      .filter((entry): entry is Entry & { pending: Pending } => entry.pending !== null)
      .filter(({ key }) => (this.#refusedUntil.get(key) ?? 0) <= now)
      .sort((a, b) => a.pending.sequence - b.pending.sequence)[0]
  }

  async #waits(store: Store): Promise<boolean> {
    return (await store.all(this.#player.account)).some(({ pending }) => pending !== null)
  }

  /** @returns null when the change is done, else the shortest time in ms until the next attempt */
  async #sendOne(store: Store, entry: Entry & { pending: Pending }): Promise<number | null> {
    const { account, key, value, base } = entry
    const { sequence } = entry.pending
    this.#inFlight = sequence
    const outcome = await (this.#lastWrites.take(sequence) ??
      (value ? this.#server.put(account, key, value, base) : this.#server.delete(account, key, base)))
    this.#inFlight = null
    if (outcome.kind === 'unreachable') {
      // Meanwhile another player may sign in.
      this.#player.doubt()
      return outcome.retryAfterMs
    }
    if (outcome.kind === 'signed-out') {
      this.#player.doubt()
      return 0
    }
    if (outcome.kind === 'refused') {
      this.#putOff(key)
      this.#listeners.emit('error', { key, code: outcome.code, message: outcome.message })
      return null
    }
    if (outcome.kind !== 'conflict') {
      this.#conflicts.delete(key)
      if (await noteSent(store, entry, outcome))
        this.#lastWrites.note(key, outcome.kind === 'written' ? outcome.version : null)
      return null
    }
    const conflicts = (this.#conflicts.get(key) ?? 0) + 1
    this.#conflicts.set(key, conflicts)
    try {
      const ask = this.#listeners.last('conflict')
      const changed = (changedKey: string, changedValue: SaveValue) =>
        this.#listeners.emit('change', { key: changedKey, value: changedValue })
      await resolveConflict({ store, server: this.#server, ask, changed }, entry)
      // The first resolution is sent at once. One that is refused again waits, and the others are sent meanwhile.
      if (conflicts > 1) this.#putOff(key, waitAfter(conflicts - 2))
      return null
    } catch (error) {
      const isOtherPlayer = hasCode(error, OTHER_PLAYER)
      if (isOtherPlayer) this.#player.doubt()
      if (isOtherPlayer || hasCode(error, /^offline$/)) return FIRST_WAIT_MS
      // An error of the game's own listener must not stop the other saves.
      globalThis.reportError?.(error)
      this.#putOff(key)
      return null
    }
  }

  /** Lets a save wait. The others are sent meanwhile. */
  #putOff(key: string, ms = REFUSED_MS): void {
    this.#refusedUntil.set(key, performance.now() + ms)
    setTimeout(() => this.#retry(), ms)
  }

  /** Keeps a copy of what the server has, unless the game has changed it meanwhile. */
  async #keep(
    { account, key }: Pick<Entry, 'account' | 'key'>,
    copy: { value: Encoded; base: number } | null,
  ): Promise<void> {
    // Without a copy, the save is read again next time.
    await this.#store
      ?.change(async (changes) => {
        const now = await changes.get(account, key)
        if (now?.pending) return
        if (copy) changes.put({ account, key, ...copy, pending: null })
        else changes.remove({ account, key })
      })
      .catch(() => {})
  }

  #setStatus(status: SaveStatus, { ifNotSaved = false } = {}): void {
    if (status === this.#status || (ifNotSaved && this.#status === 'saved')) return
    this.#status = status
    this.#listeners.emit('status', status)
  }
}

const hasCode = (error: unknown, code: RegExp): boolean => error instanceof SaveError && code.test(error.code)

/** The saves of the player in this game. */
export const saves = new Saves()
