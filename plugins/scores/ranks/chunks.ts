const SIZES = [64, 16, 4, 1]

/**
 * Divides rows into parts of a few fixed sizes for statements with one group of values a row. The texts of the
 * statements then recur, and stay prepared.
 */
export function inChunks<Row>(rows: readonly Row[]): Row[][] {
  const chunks: Row[][] = []
  let from = 0
  for (const size of SIZES) {
    for (; rows.length - from >= size; from += size) chunks.push(rows.slice(from, from + size))
  }
  return chunks
}
