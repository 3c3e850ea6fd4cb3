import type { Readable } from 'node:stream'
import type { BlenderRun } from './interface.ts'

/** Blender's own arguments, before the file to run and its two folders. */
export const blenderArguments = (threads: number): string[] => [
  ...['--background', '--factory-startup', '--python-exit-code', '1'],
  ...['-noaudio', '--threads', String(threads), '--python'],
]

/** Checks a run before it begins. @throws TypeError for an id, path or artifact that is no plain name */
export function assertRun({ id, files, main, artifacts }: BlenderRun): void {
  const name = /^[A-Za-z0-9_-]{1,80}$/
  const path = /^(?!\.)[A-Za-z0-9._-]+(\/(?!\.)[A-Za-z0-9._-]+)*$/
  const paths = files.map((file) => file.path)
  const wrong = [...paths, ...artifacts].find((candidate) => !path.test(candidate))
  if (!name.test(id) || wrong !== undefined)
    throw new TypeError(`${JSON.stringify(wrong ?? id)} is no name for a file or a run.`)
  if (!paths.includes(main)) throw new TypeError(`${main} is not among the files of the run.`)
}

/** Calls back for each line of a stream; counts its bytes, and says once when there are more than allowed. */
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

/** Calls back when a signal is aborted; at once when it has been, which a listener alone would miss. @returns ends it */
export function whenAborted(signal: AbortSignal, callback: () => void): () => void {
  signal.addEventListener('abort', callback)
  if (signal.aborted) callback()
  return () => signal.removeEventListener('abort', callback)
}
