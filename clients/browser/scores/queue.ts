/** A score that waits for a connection. */
export interface Queued {
  name: string
  score: number
  detail?: unknown
  /** The player who reached it; null where that was not known, and it then counts for whoever signs in. */
  player: string | null
  /** When it was reached, in ms since 1970. */
  at: number
}

const KEY = 'service.scores'
const MOST = 100
const KEPT_MS = 30 * 24 * 3_600_000

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
    return this.#read().filter((queued) => queued.player === null || queued.player === player)
  }

  /** Returns the scores of all players in their order. */
  all(): Queued[] {
    return this.#read()
  }

  remove({ name, at, score }: Queued): void {
    const queue = this.#read()
    const index = queue.findIndex((queued) => queued.name === name && queued.at === at && queued.score === score)
    if (index !== -1) this.#write(queue.toSpliced(index, 1))
  }

  #read(): Queued[] {
    try {
      const stored = JSON.parse(localStorage.getItem(KEY) ?? '[]') as Queued[]
      return stored.filter(({ at }) => at > Date.now() - KEPT_MS).concat(this.#memory)
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
