/** A range of bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number
  end: number
}
