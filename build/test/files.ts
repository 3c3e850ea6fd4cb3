import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { type Options, WrongUsage } from './options.ts'

export const root = join(import.meta.dirname, '../..')

export interface TestFile {
  path: string
  /** The duration of the last run; for a new file, the median of the known durations. */
  seconds: number
  /** Whether the file declares that no other file may run in its process. */
  alone: boolean
}

/**
 * The file is in the repository: shards on different machines must agree on the parts, and a fresh clone has no
 * previous run.
 */
const DURATIONS = 'test/durations.json'

/** Seconds per file, for the short and the long form. */
export type Durations = Record<'short' | 'all', Record<string, number>>

export function readDurations(): Durations {
  return JSON.parse(readFileSync(join(root, DURATIONS), 'utf8'))
}

export const durationsFile = join(root, DURATIONS)

/**
 * Lists the test files of a run, the longest first, so that no long file runs alone at the end.
 *
 * @throws WrongUsage for a path without tests
 */
export function chooseFiles({ paths, extent, shard }: Options): TestFile[] {
  const all = globSync('test/**/*.test.ts', { cwd: root }).map((path) => path.split(sep).join('/'))
  const named = paths.length === 0 ? all : [...new Set(paths.flatMap((path) => below(path, all)))]
  const durations = readDurations()[extent === 'short' ? 'short' : 'all']
  const usual = median(Object.values(durations))
  const files = named
    .map((path) => ({ path, seconds: durations[path] ?? usual, ...traits(path) }))
    // A named file runs even if it has only a long form.
    .filter(({ path, isLong, hasLongForm }) => {
      if (extent === 'all') return true
      if (extent === 'rest') return isLong || hasLongForm
      return !isLong || paths.some((named) => resolve(root, named) === resolve(root, path))
    })
    .map(({ path, seconds, alone }) => ({ path, seconds, alone }))
    .sort((one, other) => other.seconds - one.seconds || (one.path < other.path ? -1 : 1))
  return fairPart(files, shard)
}

function below(path: string, all: string[]): string[] {
  const place = relative(root, resolve(path)).split(sep).join('/')
  const found = all.filter((file) => file === place || place === '' || file.startsWith(`${place}/`))
  if (found.length > 0) return found
  const why = existsSync(resolve(path)) ? 'There are no tests in' : 'There is no'
  throw new WrongUsage(`${why} ${path}.`)
}

function traits(path: string): { isLong: boolean; hasLongForm: boolean; alone: boolean } {
  const text = readFileSync(join(root, path), 'utf8')
  return {
    isLong: path.endsWith('.long.test.ts'),
    hasLongForm: /^import .*\/kit\/extent\.ts'$/m.test(text),
    alone: /^\/\/ In a process of its own: /m.test(text),
  }
}

/** Assigns each file to the part with the least work so far. The result is the same on every machine. */
function fairPart(files: TestFile[], { number, of }: Options['shard']): TestFile[] {
  const parts = Array.from({ length: of }, () => ({ seconds: 0, files: [] as TestFile[] }))
  for (const file of files) {
    const least = parts.reduce((one, other) => (other.seconds < one.seconds ? other : one))
    least.seconds += file.seconds
    least.files.push(file)
  }
  return parts[number - 1]?.files ?? []
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 1
}
