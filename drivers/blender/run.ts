import type { Readable } from 'node:stream'
import type { BlenderRun } from './interface.ts'

/** Returns Blender's own arguments, which precede the script and its two folders. */
export const blenderArguments = (threads: number): string[] => [
  '--background',
  '--factory-startup',
  '--python-exit-code',
  '1',
  '-noaudio',
  '--threads',
  String(threads),
  '--python',
]

/** Validates a run before its start. @throws TypeError for an id, path or artifact that is not a plain name */
export function assertRun({ id, files, main, artifacts }: BlenderRun): void {
  const name = /^[A-Za-z0-9_-]{1,80}$/
  const path = /^(?!\.)[A-Za-z0-9._-]+(\/(?!\.)[A-Za-z0-9._-]+)*$/
  const paths = files.map((file) => file.path)
  const wrong = [...paths, ...artifacts].find((candidate) => !path.test(candidate))
  if (!name.test(id) || wrong !== undefined)
    throw new TypeError(`${JSON.stringify(wrong ?? id)} is no name for a file or a run.`)
  if (!paths.includes(main)) throw new TypeError(`${main} is not among the files of the run.`)
}

/** Calls back for each line of a stream. Counts the bytes, and calls back once when they exceed the limit. */
export function watchLines(
  stream: Readable,
  { logBytes, onLine, onExcess }: { logBytes: number; onLine(line: string): void; onExcess(): void },
): void {
  let seen = 0
  let rest = ''
  const decoder = new TextDecoder()
  stream.on('data', (chunk: Buffer) => {
    seen += chunk.length
    if (seen > logBytes) {
      if (seen - chunk.length <= logBytes) onExcess()
      return
    }
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = (lines.pop() ?? '').slice(0, 4096)
    for (const line of lines) onLine(line.slice(0, 4096))
  })
  stream.on('end', () => {
    if (rest) onLine(rest)
  })
}

/**
 * Calls back when a signal aborts, or at once if it has aborted, which a listener would miss.
 *
 * @returns a function that removes the listener
 */
export function whenAborted(signal: AbortSignal, callback: () => void): () => void {
  signal.addEventListener('abort', callback)
  if (signal.aborted) callback()
  return () => signal.removeEventListener('abort', callback)
}
