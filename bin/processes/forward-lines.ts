import type { Readable, Writable } from 'node:stream'

const LINE_END = 10

/**
 * Passes on the output of a process in whole lines, so that the lines of several processes stay apart. It waits while
 * the target takes nothing, and the process then waits too.
 */
export function forwardLines(from: Readable, to: Writable): void {
  let rest: Buffer = Buffer.alloc(0)
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(LINE_END) + 1
    if (end === 0) {
      rest = Buffer.concat([rest, chunk])
      return
    }
    const lines = Buffer.concat([rest, chunk.subarray(0, end)])
    rest = Buffer.from(chunk.subarray(end))
    if (to.write(lines)) return
    from.pause()
    to.once('drain', () => from.resume())
  })
  from.on('end', () => {
    if (rest.length > 0) to.write(rest)
  })
}
