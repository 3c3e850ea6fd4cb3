import type { Accessor } from '@gltf-transform/core'

/** Returns the numbers of an accessor, dequantized. They may be the accessor's own. */
export function valuesOf(accessor: Accessor): Float32Array {
  const array = accessor.getArray()
  if (array instanceof Float32Array) return array
  const width = accessor.getElementSize()
  const made = new Float32Array(accessor.getCount() * width)
  const element: number[] = []
  for (let at = 0; at < accessor.getCount(); at++) made.set(accessor.getElement(at, element), at * width)
  return made
}
