const UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'].map(
  (unit) => new Intl.NumberFormat('en', { style: 'unit', unit, maximumSignificantDigits: 3 }),
)

/** Formats a size in decimal units: `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const power = Math.min(UNITS.length, Math.floor(Math.log10(bytes) / 3))
  return (UNITS[power - 1] as Intl.NumberFormat).format(bytes / 1000 ** power)
}
