import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { Program } from '../../core/boot/decorators.ts'
import { type FileHead, fileHead } from '../../core/http/send-file.ts'

/** The running program as a download. */
export interface Download {
  path: string
  /** `gameyard`, or `gameyard.exe`. */
  name: string
  version: string
  /** The display name of the system: `Linux, x64`. */
  system: string
  size: number
  /** The checksum in hexadecimal. */
  sha256: string
  head: FileHead
}

const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'Linux', darwin: 'macOS', win32: 'Windows' }

/** Reads the program once, to compute its checksum. */
export async function describeProgram(
  { path, version }: Program,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'>,
): Promise<Download> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const sha256 = hash.digest('hex')
  const { size } = await stat(path)
  const name = platform === 'win32' ? 'gameyard.exe' : 'gameyard'
  const head = fileHead({ etag: `"${sha256}"`, size, isDocument: false }, [
    'content-type',
    'application/octet-stream',
    'content-disposition',
    `attachment; filename="${name}"`,
    'cache-control',
    'public, max-age=0, must-revalidate',
    'accept-ranges',
    'bytes',
  ])
  return { path, name, version, system: `${SYSTEMS[platform] ?? platform}, ${arch}`, size, sha256, head }
}
