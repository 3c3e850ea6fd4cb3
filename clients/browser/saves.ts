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
import { setOnServer } from './saves/direct-write.ts'
import { Journal } from './saves/journal.ts'
import { LastWrites } from './saves/last-write.ts'
import { Listeners } from './saves/listeners.ts'
import { CurrentPlayer } from './saves/player.ts'
import { recover } from './saves/recover.ts'
import { Sender } from './saves/sender.ts'
import { type Outcome, Server, type Theirs } from './saves/server.ts'
import { current, type Entry, isVersion, Store, stampOf } from './saves/store.ts'
import { type ChangedElsewhere, Tabs } from './saves/tabs.ts'
import {
  isOtherPlayer,
  SaveError,
  type SaveStatus,
  type SavesEvents,
  type SaveValue,
  type SetOptions,
} from './saves/types.ts'
import { decode, type Encoded, encode, encodeNow, mustBeKey } from './saves/values.ts'
import { type Change, write } from './saves/write.ts'

export {
  type Conflict,
  SaveError,
  type SaveStatus,
  type SavesEvents,
  type SaveValue,
  type SetOptions,
} from './saves/types.ts'

export class Saves {
  readonly #server = new Server()
  readonly #listeners = new Listeners()
  readonly #ready: Promise<void>
  #store: Store | null = null
  readonly #player = new CurrentPlayer(this.#server, () => {
    for (const known of [this.#onServer, this.#seen]) known.clear()
    this.#lastWrites.forget()
  })
  readonly #journal = new Journal()
  readonly #lastWrites = new LastWrites(this.#server)
  readonly #sender = new Sender({
    server: this.#server,
    player: this.#player,
    listeners: this.#listeners,
    lastWrites: this.#lastWrites,
    store: () => this.#ready.then(() => this.#store),
    recover: () => this.#recover(),
    replaced: (entry) => this.#replaced(entry),
    sent: (account, key, base) => this.#tabs.tell({ account, key, stamp: stampOf({ base }) }),
  })
  readonly #tabs = new Tabs(this.#journal.page, {
    changed: (change) => void this.#changedElsewhere(change).catch(() => {}),
    elsewhere: (open) => this.#listeners.emit('elsewhere', { open }),
  })
  #recovering: Promise<void> | null = null
  /** The versions of the player's saves that the server has named, where the browser keeps no copy. */
  readonly #onServer = new Map<string, number>()
  /** The stamps of the values that this page has set or read last. */
  readonly #seen = new Map<string, string>()

  constructor() {
    this.#ready = this.#open()
    const retry = () => this.#sender.retry()
    globalThis.addEventListener?.('online', () => {
      this.#player.online()
      retry()
    })
    globalThis.addEventListener?.('offline', () => this.#sender.offline())
    globalThis.addEventListener?.('pageshow', retry)
    globalThis.addEventListener?.(FRAME_SESSION_CHANGED, () => {
      this.#player.doubt()
      retry()
    })
    globalThis.document?.addEventListener('visibilitychange', retry)
    void this.#ready.then(retry)
  }

  get status(): SaveStatus {
    return this.#sender.status
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
      if (!isOtherPlayer(error)) throw error
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
    const before = this.#seen.get(key)
    const entry = await this.#entry(account, key)
    const seen = (stamp: string | undefined) => {
      // The game may have set another value meanwhile.
      if (account !== this.#player.account || this.#seen.get(key) !== before) return
      if (stamp === undefined) this.#seen.delete(key)
      else this.#seen.set(key, stamp)
    }
    const local = () => {
      seen(entry && stampOf(entry))
      return current(entry)
    }
    if (entry?.pending || account === '') return local()
    try {
      const known = entry?.value ? entry.base : null
      const theirs = await this.#server.get(account, key, known)
      this.#lastWrites.note(key, theirs === 'same' ? known : (theirs?.version ?? null))
      if (theirs === 'same') return local()
      this.#see(account, key, theirs?.version)
      const stamp = theirs && stampOf({ base: theirs.version })
      await this.#keep({ account, key }, theirs)
      seen(stamp)
      if (stamp && entry && stampOf(entry) !== stamp) this.#tabs.tell({ account, key, stamp })
      return theirs && decode(theirs)
    } catch (error) {
      if (entry && error instanceof SaveError && error.code === 'offline') return local()
      throw error
    }
  }

  /** Returns the version on the server that this device knows; null for none. It is for the option `if` of `set`. */
  async version(key: string): Promise<number | null> {
    await this.get(key)
    const entry = await this.#entry(this.#player.account, key)
    if (entry?.pending) return entry.base
    // A full device may have an old copy. Versions only grow.
    return Math.max(entry?.base ?? 0, this.#onServer.get(key) ?? 0) || null
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
    const entries = (await this.#store?.all(account).catch(() => [])) ?? []
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
    const remove = this.#listeners.add(name, listener)
    // The other tab was open first, so the event has passed.
    if (name === 'elsewhere' && this.#tabs.isElsewhere)
      queueMicrotask(() => (listener as SavesEvents['elsewhere'])({ open: true }))
    return remove
  }

  async #open(): Promise<void> {
    this.#store = await Store.open()
    if (this.#store) this.#store.onBroken = () => this.#closed()
    await this.#player.restore(this.#store)
  }

  /** From now on the server alone has the saves of this page. What waits in the store is sent by a later page. */
  #closed(): void {
    if (!this.#store) return
    this.#store = null
    const message = 'The browser has closed the storage of this page.'
    this.#listeners.emit('error', { key: '', code: 'storage_closed', message })
  }

  /** Reads an entry of this device; undefined also while the browser fails to. */
  #entry(account: string, key: string): Promise<Entry | undefined> {
    return Promise.resolve(this.#store?.get(account, key)).catch(() => undefined)
  }

  #see(account: string, key: string, version: number | undefined): void {
    if (account !== this.#player.account) return
    if (version === undefined) this.#onServer.delete(key)
    else this.#onServer.set(key, version)
  }

  /** Notes the change before the first wait: a page that is being closed gets no further. */
  async #set(key: string, value: Encoded | null, { if: base }: SetOptions): Promise<void> {
    const id = this.#journal.nextId()
    const times = { setAt: Date.now(), offset: this.#server.offset }
    const change = { id, key, value, ...times, ...(base === undefined ? {} : { base }) }
    const isNoted = this.#journal.add({ ...change, account: this.#player.settled })
    const isFirst = isNoted && base === undefined && this.status === 'saved' && this.#player.isConfirmed
    const early = this.#lastWrites.send(isFirst ? this.#player.account : null, key, value)
    const seen = this.#seen.get(key)
    this.#seen.set(key, id)
    try {
      await this.#write({ ...change, seen }, early)
    } catch (error) {
      this.#seen.delete(key)
      throw error
    } finally {
      this.#journal.remove(id)
    }
  }

  async #write(change: Change, early: Promise<Outcome> | null): Promise<void> {
    const account = await this.#currentPlayer()
    const { key, value } = change
    let entry: Entry | null
    try {
      if (!this.#store) throw new SaveError('storage_full', 'The browser keeps nothing for this page.')
      const ask = this.#listeners.last('conflict')
      entry = await write({ store: this.#store, ask, inFlight: () => this.#sender.inFlight }, account, change)
    } catch (error) {
      if (error instanceof TypeError) throw error
      const outcome = await setOnServer(this.#server, { account, key, value }, change)
      const version = outcome.kind === 'written' ? outcome.version : undefined
      this.#see(account, key, version)
      this.#tabs.tell({ account, key, stamp: stampOf({ base: version ?? null }) })
      this.#sender.retry()
      return
    }
    if (early && entry?.pending) this.#lastWrites.keep(entry.pending.sequence, early)
    // Another player than before may have been named meanwhile.
    if (!this.#seen.has(key)) this.#seen.set(key, change.id)
    if (entry && stampOf(entry) !== change.id) this.#replaced(entry)
    else this.#tabs.tell({ account, key, stamp: change.id })
    this.#sender.changed(key)
  }

  /** Another value than this page's has come out of a conflict. */
  #replaced(entry: Entry): void {
    const { account, key } = entry
    this.#seen.set(key, stampOf(entry))
    this.#listeners.emit('change', { key, value: current(entry) })
    this.#tabs.tell({ account, key, stamp: stampOf(entry) })
  }

  /** Another tab has given a save another value. A game that listens has read it; one that does not has not. */
  async #changedElsewhere({ account, key, stamp }: ChangedElsewhere): Promise<void> {
    const seen = this.#seen.get(key)
    if (account !== this.#player.account || seen === undefined || seen === stamp) return
    if (!this.#store) return this.#changedOnServer(key, stamp)
    const entry = await this.#store.get(account, key)
    // A deletion is told by its change. When it is on the server, there is no entry any more.
    if (this.#seen.get(key) !== seen || (entry ? stampOf(entry) !== stamp : isVersion(stamp))) return
    if (!this.#listeners.last('change')) return
    this.#seen.set(key, stamp)
    this.#listeners.emit('change', { key, value: current(entry) })
  }

  /** A browser that keeps nothing for this page, such as a frame's, has the value of another tab on the server only. */
  async #changedOnServer(key: string, stamp: string): Promise<void> {
    const versionOf = () => this.#onServer.get(key) ?? null
    const before = versionOf()
    // Another tab's change is told again once it is on the server.
    if (!isVersion(stamp) || stamp === stampOf({ base: before }) || !this.#listeners.last('change')) return
    const value = await this.#get(key)
    if (versionOf() !== before) this.#listeners.emit('change', { key, value })
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

  /** Keeps a copy of what the server has, unless the game has changed it meanwhile. */
  async #keep({ account, key }: Pick<Entry, 'account' | 'key'>, theirs: Theirs | undefined): Promise<void> {
    // Without a copy, the save is read again next time.
    await this.#store
      ?.change(async (changes) => {
        const now = await changes.get(account, key)
        if (now?.pending) return
        if (theirs) {
          const { bytes, type, version, updatedAt } = theirs
          const setAt = updatedAt - (this.#server.offset ?? 0)
          changes.put({ account, key, value: { bytes, type }, base: version, pending: null, setAt })
        } else changes.remove({ account, key })
      })
      .catch(() => {})
  }
}

/** The saves of the player in this game. */
export const saves = new Saves()
