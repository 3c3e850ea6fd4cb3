import type { DestinationStream } from 'pino'

declare module 'fastify' {
  interface FastifyInstance {
    /** The last lines of this node's log; empty where the program that started it keeps none. */
    logTail: LogTail
  }
}

/** One line of the log, as JSON has it. */
export interface LogLine {
  level: string
  time: string
  msg?: string
  [field: string]: unknown
}

const LINES = 400
/** A line may carry a stack; what is longer than this is not kept whole. */
const LONGEST = 8192

type Sink = DestinationStream & { flush?(done?: () => void): void; flushSync?(): void }

/** Keeps the last lines that go through a log, in memory, so that they can be looked at in the browser. */
export class LogTail {
  readonly #lines: string[] = []
  #next = 0

  /** A destination that keeps what it passes on. */
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

  /** The lines, the newest first. */
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
