declare module 'ndarray-lanczos' {
  import type { NdArray } from 'ndarray'
  /** Scales `source` to the size of `target` and writes to `target`. Both are width × height × 4. */
  export function lanczos3(source: NdArray<Uint8Array>, target: NdArray<Uint8Array>): void
}
