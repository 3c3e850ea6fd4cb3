import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CliError, fileReason } from './errors.ts'
import type { HttpAnswer } from './http.ts'

export interface Saved {
  file: string
  bytes: number
  contentType: string
}

/**
 * Saves the body of a response. The file appears complete under its name, or not at all.
 *
 * @param to a file; a folder, in which it gets `name`; or `-`, standard output
 * @param advance called with the number of bytes as they arrive
 */
export async function save(
  answer: HttpAnswer,
  { to, name, advance = () => {} }: { to: string | undefined; name: string; advance?: (bytes: number) => void },
): Promise<Saved> {
  const contentType = String(answer.headers['content-type'] ?? 'application/octet-stream')
  let bytes = 0
  const counter = new Transform({
    transform(chunk, _encoding, done) {
      bytes += chunk.length
      advance(chunk.length)
      done(null, chunk)
    },
  })
  if (to === '-') {
    await pipeline(answer.body, counter, process.stdout, { end: false })
    return { file: '-', bytes, contentType }
  }
  const isFolder = to !== undefined && ((await stat(to).catch(() => null))?.isDirectory() ?? to.endsWith('/'))
  // The platform chooses the name, so only its base name is used.
  const file = to === undefined ? basename(name) : isFolder ? join(to, basename(name)) : to
  const partial = `${file}.part`
  try {
    await pipeline(answer.body, counter, createWriteStream(partial))
    const announced = answer.headers['content-length']
    if (announced !== undefined && Number(announced) !== bytes) throw new Error('the connection was cut')
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {})
    const reason = answer.body.errored || answer.body.destroyed ? 'the connection was cut' : fileReason(error)
    const local = (error as NodeJS.ErrnoException).syscall !== undefined
    throw new CliError(`${file} was not saved: ${local ? fileReason(error) : reason}.`, {
      code: 'not_saved',
      hint: local
        ? 'Nothing of it was kept. Name another place with --output.'
        : 'Nothing of it was kept. Run the same command again.',
      cause: error,
    })
  }
  return { file, bytes, contentType }
}
