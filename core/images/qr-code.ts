/** The modules of a QR code: `size` rows of `size`, true for dark. */
export interface QrCode {
  size: number
  isDark(row: number, column: number): boolean
}

/** The quiet zone in modules, as readers require (ISO/IEC 18004 asks for four). */
const QUIET = 4

/** Error correction M compensates for glare and for heads in front of a projection. */
export async function qrCode(text: string): Promise<QrCode> {
  const { create } = await import('qrcode')
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const { size } = modules
  return { size, isDark: (row, column) => Boolean(modules.get(row, column)) }
}

/** Returns the QR code for an SVG: its width, and one path with all runs of dark modules. */
export function qrPath({ size, isDark }: QrCode): { width: number; path: string } {
  let path = ''
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      if (!isDark(row, column)) continue
      const first = column
      while (column + 1 < size && isDark(row, column + 1)) column++
      path += `M${first + QUIET} ${row + QUIET}h${column - first + 1}v1h-${column - first + 1}z`
    }
  }
  return { width: size + 2 * QUIET, path }
}

const BLACK_ON_WHITE = '\x1b[38;5;16m\x1b[48;5;231m'
const PLAIN = '\x1b[0m'

/**
 * Returns the QR code for a terminal, two rows in a line. Its own colours make it readable on dark and light terminals.
 */
export function qrText({ size, isDark }: QrCode, indent = '  '): string {
  const quiet = 2
  const dark = (row: number, column: number) =>
    row >= 0 && column >= 0 && row < size && column < size && isDark(row, column)
  const lines: string[] = []
  for (let row = -quiet; row < size + quiet; row += 2) {
    let line = ''
    for (let column = -quiet; column < size + quiet; column++) {
      const [upper, lower] = [dark(row, column), dark(row + 1, column)]
      line += upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }
    lines.push(`${indent}${BLACK_ON_WHITE}${line}${PLAIN}`)
  }
  return `${lines.join('\n')}\n`
}
