import { RateLimited } from '../../../core/errors.ts'

/** The maximum wait of an archive, which exceeds the time of several large ones. */
const LONGEST_WAIT_MS = 120_000
/** The value of `Retry-After`. */
const RETRY_SECONDS = 15

interface Waiting {
  playerId: string
  begin(): void
}

/**
 * Limits how many archives are unpacked at a time, since each occupies a processor. An archive waits for its turn only
 * after it was uploaded completely, so that a slow upload blocks nobody.
 */
export class ConcurrencyLimit {
  readonly #most: number
  readonly #mostEach: number
  readonly #byPlayer = new Map<string, number>()
  readonly #waiting = new Set<Waiting>()
  #all = 0

  constructor({ most, mostEach }: { most: number; mostEach: number }) {
    this.#most = most
    this.#mostEach = mostEach
  }

  /**
   * Waits for a turn: first come, first served among players who have not reached the limit of one player.
   *
   * @param gone ends the wait when the client has disconnected
   * @returns a function that ends the turn
   * @throws RateLimited when the wait took too long
   */
  async take(playerId: string, gone: AbortSignal): Promise<() => void> {
    if (this.#isFreeFor(playerId)) this.#begin(playerId)
    else await this.#wait(playerId, gone)
    return () => {
      this.#all--
      const left = (this.#byPlayer.get(playerId) ?? 1) - 1
      if (left > 0) this.#byPlayer.set(playerId, left)
      else this.#byPlayer.delete(playerId)
      for (const next of this.#waiting) {
        if (!this.#isFreeFor(next.playerId)) continue
        this.#begin(next.playerId)
        return next.begin()
      }
    }
  }

  #isFreeFor(playerId: string): boolean {
    return this.#all < this.#most && (this.#byPlayer.get(playerId) ?? 0) < this.#mostEach
  }

  #begin(playerId: string): void {
    this.#all++
    this.#byPlayer.set(playerId, (this.#byPlayer.get(playerId) ?? 0) + 1)
  }

  #wait(playerId: string, gone: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (done: () => void) => () => {
        this.#waiting.delete(waiting)
        clearTimeout(late)
        gone.removeEventListener('abort', refuse)
        done()
      }
      const refuse = end(() =>
        reject(new RateLimited(RETRY_SECONDS).with({ headers: { 'retry-after': String(RETRY_SECONDS) } })),
      )
      const waiting = { playerId, begin: end(resolve) }
      const late = setTimeout(refuse, LONGEST_WAIT_MS)
      gone.addEventListener('abort', refuse)
      this.#waiting.add(waiting)
    })
  }
}
