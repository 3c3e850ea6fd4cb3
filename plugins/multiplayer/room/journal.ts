import type { Frame } from './frames.ts'
import type { Member } from './member.ts'

/** The initial size of the ring, which is doubled as needed up to the journal's limit. */
const FIRST_BYTES = 2048

/**
 * The last frames of a room, for replay to players who reconnect.
 *
 * The frames are copied into one ring buffer. As separate objects, thousands of small buffers a second would live just
 * long enough to be moved by each collection of the young generation, which pauses the whole process.
 */
export class Journal {
  readonly #most: { frames: number; bytes: number }
  #ring = Buffer.alloc(0)
  /** The position of the next frame. */
  #end = 0
  /** The numbers of the oldest frame and of the next one. A frame is stored at its number modulo `#most.frames`. */
  #first = 0
  #next = 0
  // For each frame: its start in the ring, its length in bytes, and its recipients: only this player, everyone except
  // this player, or everyone.
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  readonly #members: (Member | null)[] = []
  readonly #isAlone: boolean[] = []

  /** @param most the maximum number of frames, and of their bytes */
  constructor(most: { frames: number; bytes: number }) {
    this.#most = most
  }

  /** Adds a frame for one player only, for everyone except one, or for everyone. */
  add(frame: Frame, { only, except }: { only: Member | null; except: Member | null }): void {
    if (this.#next - this.#first === this.#most.frames) this.#first++
    const start = this.#placeFor(frame.length)
    const at = this.#next++ % this.#most.frames
    if (start === null) {
      this.#first = this.#next
      return
    }
    frame.copy(this.#ring, start)
    this.#end = start + frame.length
    this.#starts[at] = start
    this.#lengths[at] = frame.length
    this.#members[at] = only ?? except
    this.#isAlone[at] = only !== null
  }

  /**
   * Returns the last frames that were sent to a player, in order; null when fewer are kept. They are views of the ring,
   * valid until the next frame is added.
   */
  lastFor(member: Member, count: number): Frame[] | null {
    const frames: Frame[] = []
    for (let number = this.#next - 1; number >= this.#first && frames.length < count; number--) {
      const at = number % this.#most.frames
      if ((this.#members[at] === member) === this.#isAlone[at]) frames.push(this.#frameAt(at))
    }
    return frames.length < count ? null : frames.reverse()
  }

  #frameAt(at: number): Frame {
    const start = this.#starts[at] as number
    return this.#ring.subarray(start, start + (this.#lengths[at] as number))
  }

  /**
   * Returns a contiguous position for the given number of bytes and evicts the oldest frames. Null when the limit is
   * exceeded.
   */
  #placeFor(length: number): number | null {
    if (length > this.#most.bytes) return null
    for (;;) {
      const size = this.#ring.length
      const isEmpty = this.#first === this.#next
      const oldest = isEmpty ? 0 : (this.#starts[this.#first % this.#most.frames] as number)
      if (isEmpty) this.#end = 0
      if (isEmpty || this.#end > oldest) {
        if (size - this.#end >= length) return this.#end
        if (oldest >= length) return 0
      } else if (oldest - this.#end >= length) {
        return this.#end
      }
      if (size < this.#most.bytes) this.#grow(length)
      else this.#first++
    }
  }

  /**
   * Grows the ring by more than the given number of bytes if the limit allows, and moves the frames to its beginning.
   */
  #grow(length: number): void {
    const larger = Math.max(FIRST_BYTES, this.#ring.length * 2, this.#ring.length + length)
    const ring = Buffer.allocUnsafeSlow(Math.min(larger, this.#most.bytes))
    let end = 0
    for (let number = this.#first; number < this.#next; number++) {
      const at = number % this.#most.frames
      const frame = this.#frameAt(at)
      frame.copy(ring, end)
      this.#starts[at] = end
      end += frame.length
    }
    this.#ring = ring
    this.#end = end
  }
}
