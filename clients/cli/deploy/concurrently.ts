/**
 * Processes all items, at most `most` at a time. After the first failure it starts no more items and awaits the running
 * ones.
 */
export async function forEach<T>(most: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  let failed = false
  const worker = async () => {
    while (next < items.length && !failed) {
      const item = items[next++] as T
      await work(item).catch((error) => {
        failed = true
        throw error
      })
    }
  }
  const results = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, worker))
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
}
