import { Allowance } from './sandbox/processor-time.ts'

/**
 * What one player may send to the script, in characters and bytes a second and at once. Parsing it counts for the room,
 * so that one player could use up the time of all. Messages beyond it are left out.
 */
const FROM_PLAYER = { perSecond: 128 * 1024, atOnce: 1024 * 1024 }

/** What each player of a room may still send to the script. */
export class PlayerAllowances {
  readonly #byPlayer = new Map<string, Allowance>()

  /** @param now in ms @returns whether the player may send so much */
  take(id: string, size: number, now: number): boolean {
    let allowance = this.#byPlayer.get(id)
    if (!allowance) {
      allowance = new Allowance(FROM_PLAYER.perSecond, FROM_PLAYER.atOnce, now)
      this.#byPlayer.set(id, allowance)
    }
    if (allowance.at(now) < size) return false
    allowance.use(size)
    return true
  }

  forget(id: string): void {
    this.#byPlayer.delete(id)
  }
}
