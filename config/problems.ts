import { StartupError } from '../core/errors.ts'

/** Keys from the top of the configuration down to one value; array items by their index. */
export type Path = readonly (string | number)[]

/** Something wrong, or worth a warning, in the configuration. */
export interface Problem {
  severity: 'error' | 'warning'
  /** The key, dotted: `listen.port`; empty for the file as a whole. */
  key: string
  /** The problem, the expectation, and a hint where there is one. */
  message: string
  /** Where the value was set: the file as it was named, an environment variable, or a command-line option. */
  source: string | null
  /** Line and column in the file, both from 1. */
  line?: number
  column?: number
}

/** `gameyard.yaml:3:1  unknown key …` */
export function formatProblem({ source, line, column, severity, message }: Problem): string {
  const place = [source, line, column].filter((part) => part !== null && part !== undefined).join(':')
  return `${place ? `${place}  ` : ''}${severity === 'warning' ? 'warning: ' : ''}${message}`
}

/** The configuration can't be used. Carries every problem found, not only the first. */
export class ConfigError extends StartupError {
  override name = 'ConfigError'
  readonly problems: Problem[]

  constructor(problems: Problem[]) {
    const sorted = problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
    super(sorted.map(formatProblem).join('\n'))
    this.problems = sorted
  }
}

/** A key as it is written in messages: `plugins.chat.rooms[2]`. */
export const keyOf = (path: Path): string =>
  path.reduce<string>((key, part) => (typeof part === 'number' ? `${key}[${part}]` : key ? `${key}.${part}` : part), '')
