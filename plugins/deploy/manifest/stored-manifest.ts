import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'
import type { Blob } from '../../quotas/index.ts'
import type { NewFile } from '../schemas.ts'

/** `contentType` is stored only if the uploader sent one. Otherwise it is derived from the name at each read. */
export type Line = [path: string, sha256: string, size: number, contentType?: string]

/** The number of files that are written in one turn of the event loop. */
const FILES_AT_ONCE = 1000
/** The characters that are read in one turn; a file has a hundred or so. */
const CHARACTERS_AT_ONCE = 128 * 1024
/** Below this length compression gains little. */
const PACKED_FROM = 4096

const pack = promisify(deflate)
const unpack = promisify(inflate)

/**
 * Returns the stored form of a manifest: its lines as a JSON array, and of a long one that array deflated, in base64.
 * It takes a third of the room, or a tenth where paths are long. A manifest of 100,000 files holds no turn of the event
 * loop for long.
 */
export async function packManifest(files: readonly NewFile[]): Promise<string> {
  const parts: string[] = []
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    if (start > 0) await nextTurn()
    parts.push(JSON.stringify(files.slice(start, start + FILES_AT_ONCE).map(toLine)).slice(1, -1))
  }
  const text = `[${parts.join(',')}]`
  return text.length < PACKED_FROM ? text : (await pack(text)).toString('base64')
}

export const toLine = ({ path, sha256, size, contentType }: NewFile): Line =>
  contentType === undefined ? [path, sha256, size] : [path, sha256, size, contentType]

/** Yields the lines of a stored manifest, some in each turn of the event loop. */
export async function* linesOf(stored: string): AsyncGenerator<Line[]> {
  const text = stored.startsWith('[') ? stored : (await unpack(Buffer.from(stored, 'base64'))).toString()
  for (let start = 1; start < text.length - 1; ) {
    if (start > 1) await nextTurn()
    // Within a string the quotation mark would be escaped, so this is the end of a line.
    const next = text.indexOf('],["', start + CHARACTERS_AT_ONCE)
    const end = next < 0 ? text.length - 1 : next + 1
    yield JSON.parse(`[${text.slice(start, end)}]`) as Line[]
    start = end + 1
  }
}

/** Returns the distinct contents of a stored manifest. */
export async function blobsOf(stored: string): Promise<Blob[]> {
  const sizes = new Map<string, number>()
  for await (const lines of linesOf(stored)) for (const [, sha256, size] of lines) sizes.set(sha256, size)
  return Array.from(sizes, ([sha256, bytes]) => ({ sha256, bytes }))
}

/** Returns the bytes that a stored manifest takes, which count for the owner of its deploy. */
export const bytesOfStored = (stored: string): number => Buffer.byteLength(stored)
