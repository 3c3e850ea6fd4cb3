import type { Inspected } from '../record.ts'

/** The bytes of an upload in memory or on disk. */
export interface Bytes {
  size: number
  /** Returns up to `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>
}

/** The compressed pixels of a PNG, and the number of bytes that they must have when decompressed. */
export interface PackedPixels {
  data: Uint8Array<ArrayBuffer>
  bytes: number
}

/** The result of a format's reader, apart from the type. */
export type Dimensions = Pick<Inspected, 'width' | 'height'>
