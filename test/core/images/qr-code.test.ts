import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { type QrCode, qrCode, qrPath, qrText } from '../../../core/images/qr-code.ts'

/** Returns the squares that an SVG path of runs `M x y h n v1 h-n z` paints. */
function painted(path: string): Set<string> {
  const squares = new Set<string>()
  for (const [, x, y, n] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let i = 0; i < Number(n); i++) squares.add(`${Number(x) + i},${y}`)
  }
  return squares
}

t.test('the picture shows the code, with a quiet zone around it', async (t) => {
  const code = await qrCode('http://192.168.1.20:8080')
  const { width, path } = qrPath(code)
  t.equal(width, code.size + 8)
  const squares = painted(path)
  for (let row = 0; row < code.size; row++) {
    for (let column = 0; column < code.size; column++) {
      if (squares.has(`${column + 4},${row + 4}`) !== code.isDark(row, column)) t.fail(`square ${column}, ${row}`)
    }
  }
  t.equal(squares.has('4,4') && squares.has('10,4') && !squares.has('11,4'), true, 'a finder pattern in the corner')
})

t.test('on a terminal two rows share a line, and what is outside is light', async (t) => {
  const chequered: QrCode = { size: 3, isDark: (row, column) => (row + column) % 2 === 0 }
  const lines = stripVTControlCharacters(qrText(chequered, '')).split('\n')
  t.strictSame(lines, ['       ', '  ▀▄▀  ', '  ▀ ▀  ', '       ', ''])
})
