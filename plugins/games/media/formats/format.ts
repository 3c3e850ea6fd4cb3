import type { Inspected } from '../record.ts'

/** The bytes of an upload, wherever they are. */
export interface Bytes {
  size: number
  /** Up to `length` bytes from `offset`; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>
}

/** The result of a format's reader, beside the type. */
export type Dimensions = Pick<Inspected, 'width' | 'height'>
