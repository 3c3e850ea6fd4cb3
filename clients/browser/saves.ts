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
import { FRAME_SESSION_CHANGED, frameSession } from './frame/hook.ts'
import { adopt, removeCopies } from './saves/account.ts'
import { afterWrite, resolveConflict } from './saves/conflicts.ts'
import { setOnServer } from './saves/direct-write.ts'
import { type Outcome, Server } from './saves/server.ts'
import { type Entry, type Pending, Store } from './saves/store.ts'
import { SaveError, type SaveStatus, type SavesEvents, type SaveValue, type SetOptions } from './saves/types.ts'
import { decode, type Encoded, encode } from './saves/values.ts'

export {
  type Conflict,
  SaveError,
  type SaveStatus,
  type SavesEvents,
  type SaveValue,
  type SetOptions,
} from './saves/types.ts'

const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
/** The time until a refused save is tried again, for example after the player has made room. */
const REFUSED_MS = 60_000
/** The longest time that a call waits to learn who is signed in. Then it is whoever was last. */
const CONFIRM_MS = 1000
const ACCOUNT = 'account'

export class Saves {
  readonly #server = new Server()
  readonly #listeners = new Map<string, Set<(...values: never[]) => unknown>>()
  readonly #ready: Promise<void>
  #store: Store | null = null
  /** The signed-in player's id; empty for nobody. */
  #account = ''
  /** Whether the server has confirmed `#account` since the page was loaded or the connection was lost. */
  #isConfirmed = false
  /** False until the server has said for the first time who plays on this device. */
  #isKnown = false
  #confirming: Promise<void> | null = null
  /** What waits on this device is not known before the first look. */
  #status: SaveStatus = 'saving'
  #sending: Promise<void> | null = null
  #wake: (() => void) | null = null
  #isRetryWanted = false
  /** The number of the change whose answer has not come yet. */
  #inFlight: number | null = null
  readonly #refusedUntil = new Map<string, number>()

  constructor() {
    this.#ready = this.#open()
    const retry = () => this.#retry()
    globalThis.addEventListener?.('online', retry)
    globalThis.addEventListener?.('offline', () => this.#setStatus('offline', { ifNotSaved: true }))
    globalThis.addEventListener?.('pageshow', retry)
    globalThis.addEventListener?.(FRAME_SESSION_CHANGED, () => {
      this.#isConfirmed = false
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
      if (!(error instanceof SaveError) || !/^(unauthorized|other_player)$/.test(error.code)) throw error
      // The player has signed out, or another one has signed in.
      this.#isConfirmed = false
      return this.#get(key)
    }
  }

  async #get(key: string): Promise<SaveValue> {
    const account = await this.#player()
    if (!this.#isKnown) throw new SaveError('offline', 'The server can not be reached.')
    const entry = await this.#store?.get(account, key)
    if (entry?.pending || account === '') return current(entry)
    try {
      const known = entry?.value ? entry.base : null
      const theirs = await this.#server.get(account, key, known)
      if (theirs === 'same') return current(entry)
      if (theirs === undefined) await this.#keep({ account, key }, null)
      else
        await this.#keep({ account, key }, { value: { bytes: theirs.bytes, type: theirs.type }, base: theirs.version })
      return theirs && decode(theirs)
    } catch (error) {
      if (entry && error instanceof SaveError && error.code === 'offline') return current(entry)
      throw error
    }
  }

  /** Returns the version on the server that this device knows; null for none. It is for the option `if` of `set`. */
  async version(key: string): Promise<number | null> {
    await this.get(key)
    return (await this.#store?.get(this.#account, key))?.base ?? null
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
    await this.#set(key, await encode(value), options)
  }

  /** Deletes a save. The server keeps its versions for 30 days. */
  async delete(key: string): Promise<void> {
    mustBeKey(key)
    await this.#set(key, null, {})
  }

  /** Lists the keys of the player's saves. */
  async keys(): Promise<string[]> {
    const account = await this.#player()
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
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener as never))
    return () => listeners.delete(listener as never)
  }

  async #open(): Promise<void> {
    this.#store = await Store.open()
    const account = await this.#store?.read<string>(ACCOUNT)
    this.#account = account ?? ''
    this.#isKnown = account !== undefined
  }

  async #set(key: string, value: Encoded | null, options: SetOptions): Promise<void> {
    const account = await this.#player()
    try {
      if (!this.#store) throw new SaveError('storage_full', 'The browser keeps nothing for this page.')
      await this.#store.change(async (changes) => {
        const entry = await changes.get(account, key)
        const base = options.if === undefined ? (entry?.base ?? null) : options.if
        const isInFlight = entry?.pending != null && entry.pending.sequence === this.#inFlight
        const former = isInFlight ? entry.value : entry?.pending?.former
        const pending = { sequence: await changes.sequence(), setAt: Date.now(), offset: this.#server.offset }
        changes.put({ account, key, value, base, pending: { ...pending, ...(former ? { former } : {}) } })
      })
    } catch (error) {
      if (error instanceof TypeError) throw error
      await setOnServer(this.#server, { account, key, value }, options)
      return
    }
    this.#refusedUntil.delete(key)
    if (this.#status === 'saved') this.#setStatus('saving')
    this.#retry()
  }

  /** Returns the player for a call of the game, after a second at most. */
  async #player(): Promise<string> {
    await this.#ready
    if (!this.#isConfirmed) {
      await Promise.race([this.#confirm(), new Promise((resolve) => setTimeout(resolve, CONFIRM_MS))])
    }
    return this.#account
  }

  /** Finds out who is signed in. Without a connection it is whoever was last. */
  #confirm(): Promise<void> {
    if (this.#isConfirmed) return Promise.resolve()
    this.#confirming ??= this.#askForPlayer().finally(() => {
      this.#confirming = null
    })
    return this.#confirming
  }

  async #askForPlayer(): Promise<void> {
    await frameSession()?.ready
    const player = await this.#server.player()
    if (player === null) return
    const former = this.#account
    const wasKnown = this.#isKnown
    this.#account = player
    this.#isKnown = true
    this.#isConfirmed = true
    if (!this.#store) return
    if (former !== player || !wasKnown) await this.#store.write(ACCOUNT, player)
    if (former !== player && former !== '') await removeCopies(this.#store, former)
    if (player !== '') await adopt(this.#store, player)
  }

  /** Sends what waits, now. A call while changes are being sent makes them be looked at once more. */
  #retry(): void {
    this.#isRetryWanted = true
    this.#wake?.()
    this.#sending ??= this.#send().finally(() => {
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
      await this.#confirm()
      const entry = await this.#next(store)
      if (!entry) return this.#setStatus((await this.#waits(store)) ? 'offline' : 'saved')
      if (!this.#isConfirmed) {
        this.#setStatus('offline')
        await this.#pause(attempt++, 0)
        continue
      }
      this.#setStatus('saving')
      const retryAfterMs = await this.#sendOne(store, entry)
      if (retryAfterMs === null) attempt = 0
      else {
        this.#setStatus('offline')
        await this.#pause(attempt++, retryAfterMs)
      }
    }
  }

  /** Returns the first change of the account that may be sent. Signed out, nothing is. */
  async #next(store: Store): Promise<(Entry & { pending: Pending }) | undefined> {
    if (this.#account === '') return undefined
    const now = performance.now()
    return (await store.all(this.#account))
      .filter((entry): entry is Entry & { pending: Pending } => entry.pending !== null)
      .filter(({ key }) => (this.#refusedUntil.get(key) ?? 0) <= now)
      .sort((a, b) => a.pending.sequence - b.pending.sequence)[0]
  }

  async #waits(store: Store): Promise<boolean> {
    return (await store.all(this.#account)).some(({ pending }) => pending !== null)
  }

  /** @returns null when the change is done, else the shortest time in ms until the next attempt */
  async #sendOne(store: Store, entry: Entry & { pending: Pending }): Promise<number | null> {
    const { account, key, value, base } = entry
    this.#inFlight = entry.pending.sequence
    const outcome = await (value
      ? this.#server.put(account, key, value, base)
      : this.#server.delete(account, key, base))
    this.#inFlight = null
    if (outcome.kind === 'unreachable') {
      // Meanwhile another player may sign in.
      this.#isConfirmed = false
      return outcome.retryAfterMs
    }
    if (outcome.kind === 'signed-out') {
      this.#isConfirmed = false
      return 0
    }
    if (outcome.kind === 'refused') {
      this.#refusedUntil.set(key, performance.now() + REFUSED_MS)
      setTimeout(() => this.#retry(), REFUSED_MS)
      this.#emit('error', { key, code: outcome.code, message: outcome.message })
      return null
    }
    if (outcome.kind !== 'conflict') {
      await this.#sent(store, entry, outcome)
      return null
    }
    try {
      const ask = [...(this.#listeners.get('conflict') ?? [])].at(-1) as SavesEvents['conflict'] | undefined
      const changed = (changedKey: string, changedValue: SaveValue) =>
        this.#emit('change', { key: changedKey, value: changedValue })
      await resolveConflict({ store, server: this.#server, ask, changed }, entry)
      return null
    } catch (error) {
      // An error of the game's own listener must not stop the other saves.
      if (!(error instanceof SaveError)) globalThis.reportError?.(error)
      return FIRST_WAIT_MS
    }
  }

  /** Notes that a change is on the server. The game may have set another value meanwhile. */
  async #sent(
    store: Store,
    { account, key, pending: { sequence } }: Entry & { pending: Pending },
    outcome: Extract<Outcome, { kind: 'written' | 'gone' }>,
  ): Promise<void> {
    await store.change(async (changes) => {
      const now = await changes.get(account, key)
      if (!now) return
      const isSame = now.pending?.sequence === sequence
      if (outcome.kind === 'written')
        changes.put(isSame ? afterWrite(now, outcome.version) : { ...now, base: outcome.version })
      else if (isSame) changes.remove(now)
      else changes.put({ ...now, base: null })
    })
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

  /** Waits longer after each failed attempt, or until `#retry`. */
  async #pause(attempt: number, leastMs: number): Promise<void> {
    if (this.#isRetryWanted && leastMs === 0) return
    const ms = Math.max(leastMs, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + Math.random() / 2))
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        // The server has said how long it needs.
        if (leastMs > 0) return
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = null
  }

  #setStatus(status: SaveStatus, { ifNotSaved = false } = {}): void {
    if (status === this.#status || (ifNotSaved && this.#status === 'saved')) return
    this.#status = status
    this.#emit('status', status)
  }

  #emit(name: 'status' | 'change' | 'error', value: unknown): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        ;(listener as (value: unknown) => void)(value)
      } catch (error) {
        globalThis.reportError?.(error)
      }
    }
  }
}

function mustBeKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('A key is 1 to 64 of A-Z a-z 0-9 . _ - and begins with a letter or digit.')
}

/** Returns the value that the game sees: the last one that follows, if there is one. */
const current = (entry: Entry | undefined): SaveValue => {
  const value = entry?.pending?.next?.at(-1) ?? entry?.value
  return value ? decode(value) : undefined
}

/** The saves of the player in this game. */
export const saves = new Saves()
