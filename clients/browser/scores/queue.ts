/** A score that waits for a connection. */
export interface Queued {
  /** Names the submission, so that it counts once, whoever sends it and how often. */
  id: string
  name: string
  score: number
  detail?: unknown
  /** The player who reached it; null where no player was known on the device yet. */
  player: string | null
}

const KEY = 'service.scores'
const MOST = 100

/** Returns an id for a submission. A page on plain http has no `crypto.randomUUID`. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Scores that wait for a connection, in the storage of the game's origin, which all its tabs share. Where the browser
 * keeps no storage, they wait in memory until the page is closed.
 */
export class ScoreQueue {
  #memory: Queued[] = []

  get size(): number {
    return this.#read().length
  }

  add(queued: Queued): void {
    this.#write([...this.#read(), queued].slice(-MOST))
  }

  /** Returns the scores of a player in their order. */
  of(player: string): Queued[] {
    return this.#read().filter((queued) => queued.player === player)
  }

  /** Returns the scores of all players in their order. */
  all(): Queued[] {
    return this.#read()
  }

  remove({ id }: Queued): void {
    this.#write(this.#read().filter((queued) => queued.id !== id))
  }

  /** Gives the scores that were made before a player was known on this device to the first one. */
  claim(player: string): void {
    const queue = this.#read()
    if (queue.some((queued) => queued.player === null))
      this.#write(queue.map((queued) => ({ ...queued, player: queued.player ?? player })))
  }

  #read(): Queued[] {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY) ?? '[]') as (Omit<Queued, 'id'> & {
        id?: string
        at?: number
      })[]
      // Scores of an earlier version of this script have no id, but a time.
      const queue = stored.map((queued, index) => ({ id: `former-${queued.at}-${index}`.padEnd(16, '-'), ...queued }))
      return queue.concat(this.#memory)
    } catch {
      return this.#memory
    }
  }

  #write(queue: Queued[]): void {
    try {
      if (queue.length === 0) localStorage.removeItem(KEY)
      else localStorage.setItem(KEY, JSON.stringify(queue))
      this.#memory = []
    } catch {
      // What is stored is in the queue too, and would be read twice.
      try {
        localStorage.removeItem(KEY)
      } catch {
        // Where there is no storage, nothing is read from it.
      }
      this.#memory = queue
    }
  }
}
