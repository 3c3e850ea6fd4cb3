/**
 * Returns the resident memory of this process in bytes; null while it may not be read. Linux needs a free file descriptor
 * for that.
 */
export function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss()
  } catch {
    return null
  }
}
