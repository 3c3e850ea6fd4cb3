/** Bytes `start` to `end` of something, both included. */
export interface ByteRange {
  start: number
  end: number
}
