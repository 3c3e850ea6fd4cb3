/** The fields of a board that decide how its scores are shown. */
export interface ScoreFormat {
  format: 'number' | 'milliseconds' | 'seconds'
  decimals: number
}

/** Returns a score as text: `12,345`, or for times `1:02.345`. @param locale of numbers; default: the page's */
export function formatScore(score: number, { format, decimals }: ScoreFormat, locale?: string): string {
  if (format === 'number') {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
    return new Intl.NumberFormat(locale, digits).format(score)
  }
  const places = format === 'milliseconds' ? 3 : decimals
  const seconds = format === 'milliseconds' ? Math.abs(score) / 1000 : Math.abs(score)
  const [whole = '0', fraction] = seconds.toFixed(places).split('.')
  const parts = [Math.floor(Number(whole) / 3600), Math.floor(Number(whole) / 60) % 60, Number(whole) % 60]
  const shown = parts[0] === 0 ? parts.slice(1) : parts
  const text = shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
  return `${score < 0 ? '−' : ''}${text}${fraction === undefined ? '' : `.${fraction}`}`
}
