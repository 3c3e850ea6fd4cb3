const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']
const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** Formats a size in binary units, those of the configured limits: `1.2 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10))
  return `${NUMBER.format(bytes / 1024 ** power)} ${UNITS[power - 1]}`
}
