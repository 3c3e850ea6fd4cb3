import type { Counts } from './messages.ts'
import type { Finished } from './pool.ts'

const SLOWEST = 10
/** A run passes with at most so many files that needed the second try. */
const UNSTEADY_FILES = 2

/** Formats the line of a file when it ends. */
export function fileLine({ file, counts, seconds, processorSeconds }: Finished): string {
  const word = counts.failed > 0 ? 'FAIL' : counts.passed > 0 ? 'pass' : 'skip'
  const parts = [
    counts.failed > 0 && `${counts.failed} failed`,
    `${counts.passed} passed`,
    counts.skipped > 0 && `${counts.skipped} skipped`,
  ].filter(Boolean)
  const times = [`${seconds.toFixed(1)} s`, processorSeconds !== null && `processor ${processorSeconds.toFixed(1)} s`]
  return `${word}  ${file}  ${parts.join(', ')}  (${times.filter(Boolean).join(', ')})`
}

/** The result of a run with its second try. */
export interface Verdict {
  /** Each file once. One that ran twice has its second result, and the processor time of both. */
  finished: Finished[]
  /** The first results of the files that failed at first and then passed. */
  unsteady: Finished[]
  passed: boolean
}

/**
 * Judges a run: it has passed when no file failed twice, and at most two failed once.
 *
 * @param second the results of the files that ran once more; empty without a second try
 */
export function judge(first: Finished[], second: Finished[]): Verdict {
  const again = new Map(second.map((one) => [one.file, one]))
  const unsteady = first.filter(({ file }) => again.get(file)?.counts.failed === 0)
  const finished = first.map((one) => {
    const later = again.get(one.file)
    return later ? { ...later, processorSeconds: added(one.processorSeconds, later.processorSeconds) } : one
  })
  const failed = finished.some(({ counts }) => counts.failed > 0)
  return { finished, unsteady, passed: !failed && unsteady.length <= UNSTEADY_FILES }
}

const added = (one: number | null, other: number | null) => (one === null || other === null ? null : one + other)

/**
 * Lists failures, files that needed the second try, skipped tests with their reasons, and the slowest files. The last
 * line has only the counts.
 */
export function summarize({ finished, unsteady }: Verdict, seconds: number): string {
  const counts = sum(finished.map((one) => one.counts))
  return [
    ...finished.flatMap(failuresOf),
    ...listUnsteady(unsteady),
    ...leftOut(finished),
    ...longest(finished, seconds),
    `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
  ].join('\n')
}

function sum(all: Counts[]): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 }
  for (const { passed, failed, skipped } of all) {
    total.passed += passed
    total.failed += failed
    total.skipped += skipped
  }
  return total
}

/** Lists the failures of a file, and what it wrote; nothing for a file that passed. */
export function failuresOf({ counts, failures, output }: Finished): string[] {
  if (counts.failed === 0) return []
  const wrote = output.trim() === '' ? [] : ['', '  It wrote:', output.trimEnd().replaceAll(/^/gm, '    ')]
  return [...failures.flatMap((text) => ['', text]), ...wrote, '']
}

/** Lists the files that failed at first and then passed, with what they said the first time. */
function listUnsteady(unsteady: Finished[]): string[] {
  if (unsteady.length === 0) return []
  const tooMany = `More than ${UNSTEADY_FILES} files were unsteady, so this run has failed.`
  return [
    '',
    'Unsteady (failed beside other files, and passed alone):',
    ...unsteady.flatMap(failuresOf),
    ...(unsteady.length > UNSTEADY_FILES ? [tooMany, ''] : []),
  ]
}

/** Lists each reason once, with the number of tests that it skipped. */
function leftOut(finished: Finished[]): string[] {
  const byReason = Map.groupBy(
    finished.flatMap(({ skips }) => skips),
    (reason) => reason,
  )
  if (byReason.size === 0) return []
  const lines = [...byReason]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([reason, all]) => `  ${all.length} skipped: ${reason}`)
  return ['', 'Not tested here:', ...lines]
}

function longest(finished: Finished[], seconds: number): string[] {
  const processor = finished.reduce((total, one) => total + (one.processorSeconds ?? 0), 0)
  const lines = finished
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST)
    .map(
      (one) =>
        `  ${one.seconds.toFixed(1).padStart(6)} s  ${(one.processorSeconds ?? 0).toFixed(1).padStart(6)} s  ${one.file}`,
    )
  return [
    '',
    'What took longest, and how much processor time:',
    ...lines,
    `  ${seconds.toFixed(1).padStart(6)} s  ${processor.toFixed(1).padStart(6)} s  all ${finished.length} files`,
    '',
  ]
}
