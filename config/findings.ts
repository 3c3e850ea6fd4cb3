import { keyOf, type Path, type Problem } from './problems.ts'
import type { Source } from './source.ts'

/** Collects the problems of the configuration, and records the source of each value. */
export class Findings {
  readonly problems: Problem[] = []
  readonly #file: Source | null
  readonly #sources = new Map<string, string>()
  readonly #renames = new Map<string, Path>()

  /** @param file null when the configuration has no file */
  constructor(file: Source | null) {
    this.#file = file
  }

  /** Whether there are no errors; warnings are allowed. */
  get sound(): boolean {
    return this.problems.every((problem) => problem.severity === 'warning')
  }

  /** Records that a value comes from a variable or an option instead of the file. */
  comesFrom(source: string, path: Path): void {
    this.#sources.set(keyOf(path), source)
  }

  /** Records that the file has the values of `path` under another key. */
  standsAt(path: Path, inFile: Path): void {
    this.#renames.set(keyOf(path), inFile)
  }

  error = (path: Path, message: string, at: 'key' | 'value' = 'value'): void => this.#add('error', path, message, at)

  warning = (path: Path, message: string): void => this.#add('warning', path, message, 'value')

  #add(severity: Problem['severity'], path: Path, message: string, at: 'key' | 'value'): void {
    this.problems.push({ severity, key: keyOf(path), message, ...this.#place(path, at) })
  }

  #place(path: Path, at: 'key' | 'value'): Pick<Problem, 'source' | 'line' | 'column'> {
    let inFile = path
    for (let length = path.length; length > 0; length--) {
      const key = keyOf(path.slice(0, length))
      const source = this.#sources.get(key)
      if (source) return { source }
      const renamed = this.#renames.get(key)
      if (renamed) inFile = [...renamed, ...path.slice(length)]
    }
    return this.#file ? { source: this.#file.name, ...this.#file.position(inFile, at) } : { source: null }
  }
}
