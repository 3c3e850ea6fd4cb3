import type { Account } from '../room/member.ts'

/** What scripts use of other plugins: scores and saves. */
export interface ScriptBackends {
  /** Submits a score for a player. @throws an error with a code, which the script receives */
  submitScore(score: {
    gameId: string
    boardId: string
    playerId: string
    score: number
    detail: unknown
  }): Promise<unknown>
  /** Returns a save as parsed JSON; undefined when there is none. */
  readSave(save: { gameId: string; playerId: string; key: string }): Promise<unknown>
  writeSave(save: { gameId: string; playerId: string; key: string; value: unknown }): Promise<unknown>
}

export interface ScriptRequest {
  gameId: string
  isPreview: boolean
  /** Finds the account of a player in the room, or of one who has just left. */
  accountOf: (id: string) => Account | undefined
  kind: string
  values: unknown[]
}

/** Requests of one game that are performed at once; more wait. */
const AT_ONCE = 16
const MOST_WAITING = 1000

class Refused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Performs the requests of scripts, for players who are in their room or have just left it. */
export class ScriptServices {
  readonly #backends: ScriptBackends | null
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** @param backends null where there are none */
  constructor(backends: ScriptBackends | null) {
    this.#backends = backends
  }

  /** @throws an error with a code and a message for the script */
  async perform({ gameId, isPreview, accountOf, kind, values }: ScriptRequest): Promise<unknown> {
    const backends = this.#backends
    if (!backends) throw new Refused('not_here', 'There are no scores and saves here.')
    if (isPreview) throw new Refused('not_in_previews', 'A preview has no scores and saves.')
    const [first, second, third, detail] = values
    const isScore = kind === 'score'
    const account = accountOf(String(isScore ? second : first))
    if (!account) throw new Refused('no_such_player', 'There is no such player in the room.')
    if (account.guest) throw new Refused('guest', 'A guest has no scores and saves.')
    const playerId = account.sub
    await this.#begin(gameId)
    try {
      if (isScore) {
        if (typeof third !== 'number') throw new Refused('invalid_request', 'A score is a number.')
        return await backends.submitScore({ gameId, boardId: String(first), playerId, score: third, detail })
      }
      const key = String(second)
      if (kind === 'saves.get') return await backends.readSave({ gameId, playerId, key })
      return await backends.writeSave({ gameId, playerId, key, value: third ?? null })
    } finally {
      this.#finish(gameId)
    }
  }

  async #begin(gameId: string): Promise<void> {
    const running = this.#running.get(gameId) ?? 0
    if (running < AT_ONCE) {
      this.#running.set(gameId, running + 1)
      return
    }
    const waiting = this.#waiting.get(gameId) ?? []
    this.#waiting.set(gameId, waiting)
    if (waiting.length >= MOST_WAITING) throw new Refused('rate_limited', 'The game asks for too much at once.')
    await new Promise<void>((go) => waiting.push(go))
  }

  #finish(gameId: string): void {
    const next = this.#waiting.get(gameId)?.shift()
    if (next) {
      next()
      return
    }
    this.#waiting.delete(gameId)
    const left = (this.#running.get(gameId) ?? 1) - 1
    if (left > 0) this.#running.set(gameId, left)
    else this.#running.delete(gameId)
  }
}
