import { RateLimited } from '../../../core/errors.ts'

/** When to ask again: about as long as an ordinary archive takes. */
const RETRY_SECONDS = 15

/**
 * How many archives are taken in at a time: each is a file on the disk, up to the size of a whole deploy, and keeps a
 * processor busy while it is unpacked.
 */
export class Turns {
  readonly #most: number
  readonly #mostEach: number
  readonly #byPlayer = new Map<string, number>()
  #all = 0

  constructor({ most, mostEach }: { most: number; mostEach: number }) {
    this.#most = most
    this.#mostEach = mostEach
  }

  /** @returns what ends the turn  @throws RateLimited when there are as many as there may be */
  take(playerId: string): () => void {
    const own = this.#byPlayer.get(playerId) ?? 0
    if (own >= this.#mostEach || this.#all >= this.#most) {
      throw new RateLimited(RETRY_SECONDS).with({ headers: { 'retry-after': String(RETRY_SECONDS) } })
    }
    this.#all++
    this.#byPlayer.set(playerId, own + 1)
    return () => {
      this.#all--
      const left = (this.#byPlayer.get(playerId) ?? 1) - 1
      if (left > 0) this.#byPlayer.set(playerId, left)
      else this.#byPlayer.delete(playerId)
    }
  }
}
