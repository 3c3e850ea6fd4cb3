/** What a worker makes of a picture. */
export interface ImageTask {
  bytes: Uint8Array
  /** A larger picture is refused, in pixels. */
  most: { side: number; pixels: number }
  /** The least length of both sides, in pixels. */
  leastSide: number
  /** The side of the square that the result covers (its centre is cut out), or in which it fits (never enlarged). */
  side: number
  fit: 'cover' | 'inside'
  /** `auto` is JPEG for a picture without transparency, which is smaller, and PNG otherwise. */
  format: 'png' | 'auto'
}

export type ImageAnswer =
  | { bytes: Uint8Array }
  /** The file is no usable picture. */
  | { refusal: string }
  /** The worker failed for another reason. */
  | { failure: string }
