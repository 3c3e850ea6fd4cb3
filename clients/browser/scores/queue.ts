/** A score that waits for a connection. */
export interface Queued {
  /** Names the submission, so that it counts once, no matter who sends it and how often. */
  id: string
  name: string
  score: number
  detail?: unknown
  /** The player who reached it; null where no player was known on the device yet. */
  player: string | null
}

/** The keys of scores, each followed by the id of its submission. */
const PREFIX = 'service.scores.waiting.'
/** Earlier versions of this script kept all scores in one list. */
const FORMER = 'service.scores'
const MOST = 100

type Stored = Queued & {
  /** Increases in the order in which the scores were made. Clocks are set back. */
  order: number
}

/** Returns an id for a submission. A page on plain http has no `crypto.randomUUID`. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Scores that wait for a connection, in the storage of the game's origin, which all its tabs share. Each has a key of its
 * own, since a tab that wrote a list back would undo what another one changed in the same instant. Where the browser
 * keeps no storage, they wait in memory until the page is closed.
 */
export class ScoreQueue {
  #memory: Stored[] = []

  constructor() {
    this.#takeOverFormer()
  }

  get size(): number {
    return this.#read().length
  }

  add(queued: Queued): void {
    this.#append(queued)
    for (const oldest of this.#read().slice(0, -MOST)) this.remove(oldest)
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
    this.#memory = this.#memory.filter((queued) => queued.id !== id)
    try {
      localStorage.removeItem(PREFIX + id)
    } catch {
      // Where there is no storage, nothing is in it.
    }
  }

  /** Gives the scores that were made before a player was known on this device to the first one. */
  claim(player: string): void {
    const unclaimed = (queued: Stored) => queued.player === null
    for (const queued of readStored().filter(unclaimed)) store({ ...queued, player })
    for (const queued of this.#memory.filter(unclaimed)) queued.player = player
  }

  #read(): Stored[] {
    return [...readStored(), ...this.#memory].sort(
      (one, other) => one.order - other.order || (one.id < other.id ? -1 : 1),
    )
  }

  /** Two tabs that do this in the same instant write the same keys. */
  #takeOverFormer(): void {
    for (const queued of readFormer()) if (!this.#read().some(({ id }) => id === queued.id)) this.#append(queued)
    try {
      localStorage.removeItem(FORMER)
    } catch {
      // Where there is no storage, there is no former list.
    }
  }

  #append(queued: Queued): void {
    const added = { ...queued, order: (this.#read().at(-1)?.order ?? 0) + 1 }
    // What found no room before may find it now.
    this.#memory = [...this.#memory, added].filter((waiting) => !store(waiting))
  }
}

/** @returns false when the browser keeps nothing */
function store(queued: Stored): boolean {
  try {
    localStorage.setItem(PREFIX + queued.id, JSON.stringify(queued))
    return true
  } catch {
    return false
  }
}

function readStored(): Stored[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))
    // Another tab may remove one meanwhile.
    return keys.flatMap((key) => {
      const text = localStorage.getItem(key)
      return text === null ? [] : [JSON.parse(text) as Stored]
    })
  } catch {
    return []
  }
}

function readFormer(): Queued[] {
  try {
    const former = JSON.parse(localStorage.getItem(FORMER) ?? '[]') as (Omit<Queued, 'id'> & {
      id?: string
      at?: number
    })[]
    // The first version gave scores no id, but a time.
    return former.map(({ at, id = '', ...queued }, index) => ({
      ...queued,
      id: id || `former-${at}-${index}`.padEnd(16, '-'),
    }))
  } catch {
    return []
  }
}
