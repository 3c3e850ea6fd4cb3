import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** The output streams of a command. */
export interface Streams {
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
}

/**
 * The output of a command. The result goes to standard output: text, or exactly one JSON document. Progress and
 * messages go to standard error. Colours are used only on a terminal, and never with NO_COLOR.
 */
export class Terminal {
  readonly json: boolean
  readonly #streams: Streams

  constructor({ json, streams = process }: { json: boolean; streams?: Streams }) {
    this.json = json
    this.#streams = streams
  }

  /** Whether standard error is a terminal, so that progress can be drawn. */
  get interactive(): boolean {
    return this.#streams.stderr.isTTY === true && process.env.TERM !== 'dumb'
  }

  get columns(): number {
    return this.#streams.stderr.columns || 80
  }

  /** Writes the result: `data` as JSON, or the text for people. */
  result(data: unknown, text: () => string): void {
    this.#streams.stdout.write(this.json ? `${JSON.stringify(data, null, 2)}\n` : `${shown(text())}\n`)
  }

  /**
   * Writes a result that can't be made again for free.
   *
   * @param lost called when it can't be written, before the process ends; it must do its work at once
   */
  deliver(text: string, lost: () => void): void {
    this.#streams.stdout.write(text, (error) => {
      if (error) lost()
    })
  }

  /** Writes one of many results: `data` as JSON on one line, or the text for people. */
  entry(data: unknown, text: () => string): void {
    this.#streams.stdout.write(`${this.json ? JSON.stringify(data) : shown(text())}\n`)
  }

  /** Writes one line of progress for people. */
  note(line: string): void {
    this.#streams.stderr.write(`${shown(line)}\n`)
  }

  /** Draws text that replaces itself, such as a progress bar. Call it only when `interactive` is true. */
  draw(text: string): void {
    this.#streams.stderr.write(text)
  }

  style(style: Style, text: string, stream: NodeJS.WriteStream = this.#streams.stdout): string {
    return styleText(style, text, { stream })
  }

  /** Styles text for standard error. */
  styleNote(style: Style, text: string): string {
    return this.style(style, text, this.#streams.stderr)
  }

  /** Formats rows under headings. Each column has its minimum width; the last one is not padded. */
  table(headings: string[], rows: string[][]): string {
    const widths = headings.map((heading, column) =>
      Math.max(displayWidth(heading), ...rows.map((row) => displayWidth(row[column] ?? ''))),
    )
    const line = (cells: string[]) =>
      cells
        .map((cell, column) =>
          column === cells.length - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell)),
        )
        .join('  ')
        .trimEnd()
    return [this.style('dim', line(headings)), ...rows.map(line)].join('\n')
  }
}

/** Matches a colour that this program has set, and a control character, which a terminal would obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it finds
const CONTROLS = /(\u001b\[[\d;]*m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Replaces control characters, since titles and descriptions are other people's, and a terminal obeys them: it could be
 * cleared, and the clipboard filled. Colours stay.
 */
const shown = (text: string): string => text.replace(CONTROLS, (_control, colour = '�') => colour)

/** Does the same with the text of somebody else alone, whose colours don't stay either. */
export const printable = (text: string): string => text.replace(CONTROLS, '�')

/** Returns the number of terminal columns of a text: East Asian wide characters and emoji take two. */
export function displayWidth(text: string): number {
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width +=
      /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u.test(
        segment,
      )
        ? 2
        : 1
  }
  return width
}

/** Returns at most `length` UTF-16 code units of a text, without half an emoji at the end. */
export function truncate(text: string, length: number): string {
  let kept = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (kept.length + segment.length > length) break
    kept += segment
  }
  return kept
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** Formats a number of bytes for people, in binary units: `3.1 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${bytes === 1 ? 'byte' : UNITS[unit]}`
}

/** Formats a time span for people: `0.4 s`, `12 s`, `3 min 20 s`. */
export function formatSpan(milliseconds: number): string {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 100) return `${Math.round(seconds)} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** Formats the time since an event: `just now`, `5 min ago`, `3 days ago`. */
export function formatAgo(time: string, now: Date): string {
  const minutes = Math.round((now.getTime() - Date.parse(time)) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`
  return `${Math.round(minutes / 1440)} days ago`
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
