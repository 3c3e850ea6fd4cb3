import { StartupError } from '../core/errors.ts'

/** The path of keys from the root of the configuration to a value, with the index for array items. */
export type Path = readonly (string | number)[]

/** An error or a warning about the configuration. */
export interface Problem {
  severity: 'error' | 'warning'
  /** The dotted key: `listen.port`; empty for the file as a whole. */
  key: string
  /** The problem, the expected value, and a hint if there is one. */
  message: string
  /** The source of the value: the file as the operator named it, an environment variable, or a command-line option. */
  source: string | null
  /** Line and column in the file, starting at 1. */
  line?: number
  column?: number
}

/** Formats a problem as `gameyard.yaml:3:1  unknown key …`. */
export function formatProblem({ source, line, column, severity, message }: Problem): string {
  const place = [source, line, column].filter((part) => part !== null && part !== undefined).join(':')
  return `${place ? `${place}  ` : ''}${severity === 'warning' ? 'warning: ' : ''}${message}`
}

/** The configuration is invalid. Contains every problem, not only the first. */
export class ConfigError extends StartupError {
  override name = 'ConfigError'
  readonly problems: Problem[]

  constructor(problems: Problem[]) {
    const sorted = problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
    super(sorted.map(formatProblem).join('\n'))
    this.problems = sorted
  }
}

/** Formats a key for messages: `plugins.chat.rooms[2]`. */
export const keyOf = (path: Path): string =>
  path.reduce<string>((key, part) => (typeof part === 'number' ? `${key}[${part}]` : key ? `${key}.${part}` : part), '')
