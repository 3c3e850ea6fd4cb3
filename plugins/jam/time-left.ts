const UNITS: [ms: number, name: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** Returns a duration in its two greatest units, such as `1 d 4 h` or `9 min 30 s`; never less than `0 s`. */
export function timeLeft(ms: number): string {
  let rest = Math.max(0, ms)
  const parts = UNITS.map(([unit, name]) => {
    const number = Math.floor(rest / unit)
    rest %= unit
    return { number, name }
  })
  const first = parts.findIndex(({ number }) => number > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .map(({ number, name }) => `${number} ${name}`)
    .join(' ')
}
