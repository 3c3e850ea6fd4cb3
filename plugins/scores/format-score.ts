import type { BoardFields } from './schemas.ts'

/**
 * Returns a score as text: `12,345`, or for times `1:02.345`. The script of games shows it the same way
 * (clients/browser/scores/format-score.ts).
 */
export function formatScore(score: number, { format, decimals }: Pick<BoardFields, 'format' | 'decimals'>): string {
  if (format === 'number') {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
    return new Intl.NumberFormat('en', digits).format(score)
  }
  const places = format === 'milliseconds' ? 3 : decimals
  const seconds = format === 'milliseconds' ? Math.abs(score) / 1000 : Math.abs(score)
  const [whole = '0', fraction] = seconds.toFixed(places).split('.')
  const parts = [Math.floor(Number(whole) / 3600), Math.floor(Number(whole) / 60) % 60, Number(whole) % 60]
  const shown = parts[0] === 0 ? parts.slice(1) : parts
  const text = shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
  return `${score < 0 ? '−' : ''}${text}${fraction === undefined ? '' : `.${fraction}`}`
}
