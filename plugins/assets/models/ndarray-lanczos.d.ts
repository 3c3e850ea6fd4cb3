declare module 'ndarray-lanczos' {
  import type { NdArray } from 'ndarray'
  /** Scales `source` to the size of `target`, in place; both width × height × 4. */
  export function lanczos3(source: NdArray<Uint8Array>, target: NdArray<Uint8Array>): void
}
