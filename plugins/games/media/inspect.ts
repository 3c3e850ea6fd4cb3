import { ImageRefusal } from '../../../core/images/refusal.ts'
import { MediaRefused, MediaTooLarge } from '../errors.ts'
import type { Bytes, Dimensions, PackedPixels } from './formats/format.ts'
import { inspectGif } from './formats/gif.ts'
import { inspectJpeg } from './formats/jpeg.ts'
import { inspectMp4 } from './formats/mp4.ts'
import { inspectPng } from './formats/png.ts'
import { inspectWebm } from './formats/webm.ts'
import { inspectWebp } from './formats/webp.ts'
import { type Inspected, kindOf, type MediaType } from './record.ts'

export const IMAGE_BYTES = 10 * 1024 * 1024
export const VIDEO_BYTES = 100 * 1024 * 1024
/** The maximum number of pixels, so that a small file can't exhaust a browser's memory. */
const MOST_PIXELS = 50_000_000
const LONGEST_SIDE = 16_384

/**
 * Determines the type and dimensions of an upload from its bytes alone; names and announced types are ignored. The
 * whole structure of the file is parsed. A file that is cut off, continues after its end, or whose content contradicts
 * its dimensions is refused. Existing libraries read only the head of a file, which proves nothing about the rest. It
 * runs in a worker thread (`workers/media.ts`).
 *
 * @returns the facts, and the compressed pixels of a PNG, which the caller counts (`countPixels`)
 * @throws MediaRefused saying what is wrong
 */
export async function inspect(bytes: Bytes): Promise<Inspected & { packed: PackedPixels | null }> {
  const head = await bytes.read(0, 32)
  const contentType = typeOf(head)
  if (!contentType) {
    throw new MediaRefused('This is not a PNG, JPEG, WebP or GIF picture, nor an MP4 or WebM video.')
  }
  const isVideo = kindOf(contentType) === 'video'
  const most = isVideo ? VIDEO_BYTES : IMAGE_BYTES
  if (bytes.size > most) throw tooLarge(isVideo)
  const { width, height, packed = null } = await readDimensions(contentType, bytes)
  if (!(width > 0 && height > 0)) throw new MediaRefused('The file shows nothing: it has no width or height.')
  if (width > LONGEST_SIDE || height > LONGEST_SIDE || width * height > MOST_PIXELS) {
    throw new MediaRefused(`${width} × ${height} pixels are too many; 50 million are enough, 16,384 on a side.`)
  }
  return { contentType, width, height, packed }
}

/** Creates the error for a file that exceeds the limit of its kind. */
export const tooLarge = (isVideo: boolean) =>
  new MediaTooLarge(isVideo ? 'A video has at most 100 MiB.' : 'A picture has at most 10 MiB.')

async function readDimensions(
  contentType: MediaType,
  bytes: Bytes,
): Promise<Dimensions & { packed?: PackedPixels | null }> {
  try {
    if (contentType === 'video/mp4') return await inspectMp4(bytes)
    if (contentType === 'video/webm') return await inspectWebm(bytes)
    return await IMAGES[contentType](await bytes.read(0, bytes.size))
  } catch (error) {
    // A read past the end of the buffer means that the file declares more than it contains.
    if (error instanceof RangeError) throw new MediaRefused('The file is damaged or cut off.').with({ cause: error })
    if (error instanceof ImageRefusal) throw new MediaRefused(error.message).with({ cause: error })
    throw error
  }
}

const IMAGES = {
  'image/png': inspectPng,
  'image/jpeg': inspectJpeg,
  'image/webp': inspectWebp,
  'image/gif': inspectGif,
}

function typeOf(head: Buffer): MediaType | null {
  const text = (from: number, to: number) => head.toString('latin1', from, to)
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png'
  if (text(0, 3) === '\xff\xd8\xff') return 'image/jpeg'
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'image/webp'
  if (/^GIF8[79]a$/.test(text(0, 6))) return 'image/gif'
  if (text(4, 8) === 'ftyp' && !/^(?:avif|avis|heic|heix|mif1|qt {2})$/.test(text(8, 12))) return 'video/mp4'
  if (text(0, 4) === '\x1aE\xdf\xa3') return 'video/webm'
  return null
}
