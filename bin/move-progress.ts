import type { CopyProgress } from '../core/data/moving/copy-tables.ts'
import { formatBytes } from '../core/format-bytes.ts'

/** Width of the bar in characters. */
const WIDTH = 24
/** Interval between two drawings in ms: on a terminal, and in a log file. */
const DRAW_MS = 200
const LINE_MS = 10_000

/** Shows the progress of a move on standard error: as a bar on a terminal, otherwise as a line every ten seconds. */
export function moveProgress(output: NodeJS.WriteStream = process.stderr): CopyProgress & { end(): void } {
  const terminal = output.isTTY === true
  let [name, total, unit, done, shown] = ['', 0, 'rows', 0, 0]
  const draw = (final: boolean) => {
    if (!name) return
    const part = total > 0 ? Math.min(1, done / total) : 1
    const share = final ? 1 : part
    const bar = `[${'='.repeat(Math.round(share * WIDTH)).padEnd(WIDTH)}]`
    const text = `${name.padEnd(12)} ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${amountOf(done, unit)}`
    output.write(terminal ? `\r\u001b[K${text}${final ? '\n' : ''}` : `${text}\n`)
  }
  const drawSometimes = () => {
    const now = performance.now()
    if (now - shown < (terminal ? DRAW_MS : LINE_MS)) return
    shown = now
    draw(false)
  }
  return {
    step(next, estimate, what) {
      draw(true)
      ;[name, total, unit, done, shown] = [next, estimate, what, 0, performance.now()]
      if (terminal) draw(false)
    },
    advance(count) {
      done += count
      drawSometimes()
    },
    end() {
      draw(true)
      name = ''
    },
  }
}

function amountOf(count: number, unit: string): string {
  return unit === 'bytes' ? formatBytes(count) : `${count.toLocaleString('en')} ${unit}`
}
