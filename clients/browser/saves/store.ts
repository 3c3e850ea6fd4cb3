import type { SaveValue } from './types.ts'
import { decode, type Encoded } from './values.ts'

/** A change that is not on the server yet. */
export interface Pending {
  /** Grows with each change on this device. Changes are sent in this order. */
  sequence: number
  /** Grows with each value that takes the place of another one under the same number; absent for the first. */
  step?: number
  /** The time of the change in ms by the clock of this device. */
  setAt: number
  /** What to add to `setAt` for the server's time; null when the server's time was not known. */
  offset: number | null
  /** The same moment by the clock of the page, in ms since its origin, which nobody sets. */
  onPage?: { origin: number; at: number }
  /** Whether the change replaces a value that it was not made from. The server keeps that one for longer. */
  isConflict?: boolean
  /** Values that follow once this one is on the server, so that all are kept there. The game sees the last one. */
  next?: Encoded[]
  /** The value before this one, whose answer had not come yet. It may be on the server. */
  former?: Encoded
}

/** A save of one account on this device. */
export interface Entry {
  /** The player's id; empty while nobody is signed in. */
  account: string
  key: string
  /** Null: the save is deleted. */
  value: Encoded | null
  /** The version on the server that the value is, or was made from; null for none. */
  base: number | null
  /** Null: the value is on the server. */
  pending: Pending | null
  /** The time of the last change on this device, as `Pending.setAt`. It stays when the change has been sent. */
  setAt?: number
  /** What gave the value that the game sees: a change of a page of this device; absent: the server. */
  change?: string
}

/** Returns what tells the value of an entry from others that the save had before. */
export const stampOf = ({ change, base }: Pick<Entry, 'change' | 'base'>): string => change ?? `version ${base}`

/** Whether a stamp is that of a value of the server. */
export const isVersion = (stamp: string): boolean => stamp.startsWith('version ')

/** Returns the value that the game sees: the last one that follows, if there is one. */
export const current = (entry: Entry | undefined): SaveValue => {
  const value = entry?.pending?.next?.at(-1) ?? entry?.value
  return value ? decode(value) : undefined
}

/** Whether a change is still the one that was read before. Another tab may have gone on with it. */
export const isSameChange = (now: Pending | null | undefined, before: Pending): boolean =>
  now?.sequence === before.sequence && (now.step ?? 0) === (before.step ?? 0)

export const nextStep = ({ step = 0 }: Pending): number => step + 1

const OPEN_MS = 3000
const SAVES = 'saves'
const META = 'meta'
/** The last changes of the journal that are in the store. The page and the next one may both bring one. */
const TAKEN = 'taken'
const MOST_TAKEN = 200

/** A transaction of the store. */
export interface Changes {
  get(account: string, key: string): Promise<Entry | undefined>
  put(entry: Entry): void
  remove(entry: Pick<Entry, 'account' | 'key'>): void
  sequence(): Promise<number>
  /** Whether a change of the journal comes for the first time. */
  isNew(id: string): Promise<boolean>
}

/** The saves of this device, in IndexedDB. Several tabs may use it at once. */
export class Store {
  /** Called when the browser has closed the database and does not open it again. */
  onBroken: () => void = () => {}
  #db: IDBDatabase
  #reopening: Promise<void> | null = null

  private constructor(db: IDBDatabase) {
    this.#db = db
  }

  /** @returns null where the browser keeps nothing for this page */
  static async open(): Promise<Store | null> {
    try {
      return new Store(await connect())
    } catch {
      return null
    }
  }

  async get(account: string, key: string): Promise<Entry | undefined> {
    return done((await this.#transaction(SAVES)).objectStore(SAVES).get([account, key]))
  }

  /** Returns all entries of an account. */
  async all(account: string): Promise<Entry[]> {
    const range = IDBKeyRange.bound([account], [account, []])
    return done((await this.#transaction(SAVES)).objectStore(SAVES).getAll(range))
  }

  /**
   * Changes entries in one transaction, which is on the disk when this resolves.
   *
   * @param work sets entries by `put` and `remove`; `sequence` is the next number of a change
   */
  async change<Result>(work: (changes: Changes) => Promise<Result>): Promise<Result> {
    const transaction = await this.#transaction([SAVES, META], 'readwrite')
    const saves = transaction.objectStore(SAVES)
    const meta = transaction.objectStore(META)
    const complete = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error ?? new DOMException('The storage of the browser failed.'))
    })
    // A failure of the work below is thrown there.
    complete.catch(() => {})
    const result = await work({
      get: (account, key) => done(saves.get([account, key])),
      put: (entry) => void saves.put(entry),
      remove: ({ account, key }) => void saves.delete([account, key]),
      sequence: async () => {
        const next = (((await done(meta.get('sequence'))) as number | undefined) ?? 0) + 1
        meta.put(next, 'sequence')
        return next
      },
      isNew: async (id) => {
        const taken = ((await done(meta.get(TAKEN))) as string[] | undefined) ?? []
        if (taken.includes(id)) return false
        meta.put([...taken, id].slice(-MOST_TAKEN), TAKEN)
        return true
      },
    })
    await complete
    return result
  }

  async read<Value>(name: string): Promise<Value | undefined> {
    return done((await this.#transaction(META)).objectStore(META).get(name))
  }

  async write(name: string, value: unknown): Promise<void> {
    await done((await this.#transaction(META, 'readwrite')).objectStore(META).put(value, name))
  }

  /** Begins a transaction. The browser may have closed the database, in the background or with the site's data. */
  async #transaction(stores: string | string[], mode: IDBTransactionMode = 'readonly'): Promise<IDBTransaction> {
    const begin = () => this.#db.transaction(stores, mode, { durability: 'strict' })
    try {
      return begin()
    } catch (error) {
      if (!/^(InvalidStateError|UnknownError)$/.test((error as DOMException).name)) throw error
      this.#reopening ??= this.#reopen().finally(() => {
        this.#reopening = null
      })
      try {
        await this.#reopening
        return begin()
      } catch (failure) {
        this.onBroken()
        throw failure
      }
    }
  }

  async #reopen(): Promise<void> {
    this.#db = await connect()
  }
}

async function connect(): Promise<IDBDatabase> {
  const request = indexedDB.open('service-saves', 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore(SAVES, { keyPath: ['account', 'key'] })
    request.result.createObjectStore(META)
  }
  const db = await Promise.race([done(request), neverOpened()])
  // Another tab may delete the database, which would otherwise wait for this one.
  db.onversionchange = () => db.close()
  return db
}

/** Some browsers neither open a database nor say why not. A game must not wait for that. */
const neverOpened = (): Promise<never> =>
  new Promise((_resolve, reject) => {
    setTimeout(() => reject(new DOMException('The browser does not open the database.', 'TimeoutError')), OPEN_MS)
  })

const done = <Result>(request: IDBRequest<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
