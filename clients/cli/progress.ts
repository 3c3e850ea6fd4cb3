import { formatBytes, formatSpan, type Terminal } from './terminal.ts'

const FRAME_MS = 80
const WIDTH = 24

/** A progress bar on the terminal. It draws nothing without a terminal. */
export class ProgressBar {
  readonly #terminal: Terminal
  readonly #unicode: boolean
  #label = ''
  #total = 0
  #done = 0
  #suffix = ''
  #startedAt = 0
  #drawnAt = 0
  #drawn = false

  constructor(terminal: Terminal, env: NodeJS.ProcessEnv) {
    this.#terminal = terminal
    const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
    this.#unicode = process.platform === 'win32' || process.platform === 'darwin' || /utf-?8/i.test(locale)
  }

  /** Begins a bar. @param total bytes */
  start(label: string, total: number): void {
    this.#label = label
    this.#total = total
    this.#done = 0
    this.#suffix = ''
    this.#startedAt = performance.now()
    this.#drawnAt = 0
    this.#draw()
  }

  advance(bytes: number): void {
    this.#done += bytes
    this.#draw()
  }

  /** Sets the text after the bar, such as `12 of 40 files`. */
  suffix(text: string): void {
    this.#suffix = text
    this.#draw()
  }

  /** Removes the bar, so that lines can be written. */
  clear(): void {
    if (!this.#drawn) return
    this.#terminal.draw('\r\x1b[2K')
    this.#drawn = false
    this.#drawnAt = 0
  }

  #draw(): void {
    if (!this.#terminal.interactive) return
    const now = performance.now()
    if (now - this.#drawnAt < FRAME_MS) return
    this.#drawnAt = now
    this.#drawn = true
    const { columns } = this.#terminal
    const line = `${this.#label.padEnd(10)} ${this.#bar()} ${this.#figures(now)}`
    this.#terminal.draw(`\r\x1b[2K${line.slice(0, columns - 1)}`)
  }

  #bar(): string {
    const share = this.#total > 0 ? Math.min(1, Math.max(0, this.#done / this.#total)) : 1
    const full = Math.round(share * WIDTH)
    const [on, off] = this.#unicode ? ['█', '░'] : ['#', '-']
    return `${on.repeat(full)}${off.repeat(WIDTH - full)} ${String(Math.floor(share * 100)).padStart(3)} %`
  }

  #figures(now: number): string {
    const spent = now - this.#startedAt
    const parts = [`${formatBytes(Math.max(0, this.#done))} of ${formatBytes(this.#total)}`]
    if (this.#suffix) parts.unshift(this.#suffix)
    const rate = this.#done / spent
    if (spent > 1500 && rate > 0 && this.#done < this.#total) {
      parts.push(`${formatSpan((this.#total - this.#done) / rate)} left`)
    }
    return parts.join(', ')
  }
}
