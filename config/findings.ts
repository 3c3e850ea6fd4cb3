import { keyOf, type Path, type Problem } from './problems.ts'
import type { Source } from './source.ts'

/** Collects what is wrong with the configuration, and knows where each value came from. */
export class Findings {
  readonly problems: Problem[] = []
  readonly #file: Source | null
  readonly #sources = new Map<string, string>()
  readonly #renames = new Map<string, Path>()

  /** @param file null when the configuration has none */
  constructor(file: Source | null) {
    this.#file = file
  }

  /** Whether nothing worse than warnings was found. */
  get sound(): boolean {
    return this.problems.every((problem) => problem.severity === 'warning')
  }

  /** Notes that a value comes from a variable or an option rather than the file. */
  comesFrom(source: string, path: Path): void {
    this.#sources.set(keyOf(path), source)
  }

  /** Notes that the file has the values of `path` under another key. */
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
