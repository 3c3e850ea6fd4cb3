import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import tar from 'tar-stream'
import type { InputFile } from './interface.ts'

/**
 * Writes files as a tar archive, below `folder`; folders precede their contents. Ends the stream.
 *
 * @param writable further empty folders, which any user may write to
 */
export async function packFiles(files: InputFile[], to: Writable, folder = '', writable: string[] = []): Promise<void> {
  const pack = tar.pack()
  const sent = pipeline(pack, to)
  sent.catch(() => {}) // handles the rejection until the await below; a file read may take place before it
  // When the target ends early, every pending entry also reports an error.
  const entry = (header: Partial<tar.Header> & { name: string }, content?: Buffer | string) =>
    (content === undefined ? pack.entry(header) : pack.entry(header, content)).on('error', () => {})
  for (const name of writable) entry({ name, type: 'directory', mode: 0o777 })
  const seen = new Set<string>()
  for (const { path, content } of files) {
    const name = folder + path
    for (let cut = name.indexOf('/'); cut > 0; cut = name.indexOf('/', cut + 1)) {
      const above = name.slice(0, cut)
      if (!seen.has(above)) entry({ name: above, type: 'directory', mode: 0o755 })
      seen.add(above)
    }
    if (typeof content === 'string' || Buffer.isBuffer(content)) entry({ name, mode: 0o644 }, content)
    else await pipeline(createReadStream(content.file), entry({ name, mode: 0o644, size: content.size }))
  }
  pack.finalize()
  await sent
}

/** The reason why an artifact of a run was refused. */
export class RefusedArtifact extends Error {
  readonly reason: 'size' | 'kind'
  readonly artifact: string

  constructor(artifact: string, reason: 'size' | 'kind') {
    super(`${artifact}: ${reason}`)
    this.artifact = artifact
    this.reason = reason
  }
}

/**
 * Extracts ordinary files of the given names from an untrusted tar archive into a folder, and ignores other members.
 *
 * @returns the names of the extracted files, each once
 * @throws RefusedArtifact for a file that is too large or occurs twice, or a link, device or folder
 */
export async function unpackArtifacts(
  from: Readable,
  { names, artifactBytes, output }: { names: readonly string[]; artifactBytes: number; output: string },
): Promise<string[]> {
  const extract = tar.extract()
  const found = new Set<string>()
  const fed = pipeline(from, extract)
  fed.catch(() => {}) // the iteration below reports the error
  try {
    for await (const entry of extract) {
      const { type, size = 0 } = entry.header
      const name = entry.header.name.replace(/\/$/, '')
      if (names.includes(name)) {
        if (type !== 'file' || found.has(name)) throw new RefusedArtifact(name, 'kind')
        if (size > artifactBytes) throw new RefusedArtifact(name, 'size')
        found.add(name)
        await pipeline(entry, createWriteStream(join(output, name), { flags: 'wx', mode: 0o600 }))
      } else {
        entry.resume()
        await once(entry, 'end')
      }
    }
    await fed
    return [...found]
  } catch (error) {
    from.destroy()
    for (const name of found) await rm(join(output, name), { force: true })
    throw error
  }
}
