import type { DestinationStream } from 'pino'

declare module 'fastify' {
  interface FastifyInstance {
    /** The last lines of this node's log; empty when the program keeps none. */
    logTail: LogTail
  }
}

/** One log line as parsed JSON. */
export interface LogLine {
  level: string
  time: string
  msg?: string
  [field: string]: unknown
}

const LINES = 400
/** Maximum length of a kept line, since a line may contain a stack. */
const LONGEST = 8192

type Sink = DestinationStream & { flush?(done?: () => void): void; flushSync?(): void }

/** Keeps the last lines of a log in memory, so that the browser can show them. */
export class LogTail {
  readonly #lines: string[] = []
  #next = 0

  /** Returns a sink that keeps the lines it passes on. */
  through(sink: Sink): Sink {
    return {
      write: (line) => {
        this.#lines[this.#next] = line
        this.#next = (this.#next + 1) % LINES
        sink.write(line)
      },
      ...(sink.flush ? { flush: (done?: () => void) => sink.flush?.(done) } : {}),
      ...(sink.flushSync ? { flushSync: () => sink.flushSync?.() } : {}),
    }
  }

  /** Returns the lines, the newest first. */
  read(): LogLine[] {
    const inOrder = [...this.#lines.slice(this.#next), ...this.#lines.slice(0, this.#next)]
    return inOrder.reverse().map(parse)
  }
}

function parse(line: string): LogLine {
  if (line.length > LONGEST) return { level: 'info', time: '', msg: `${line.slice(0, 200)}…` }
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return { level: 'info', time: '', msg: line.slice(0, 200) }
  }
}
