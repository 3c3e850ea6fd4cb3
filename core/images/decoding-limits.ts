import { ImageRefusal } from './refusal.ts'

/** A decoder passes over the whole picture once for each scan. Cameras and editors write at most a dozen. */
export const MOST_SCANS = 64
/** The most frames of an animation: more than a minute at 30 a second. */
export const MOST_FRAMES = 2000
/** Editors write a few dozen chunks beside the pixels. */
export const MOST_CHUNKS = 1000
/** The smallest usual part into which encoders divide the pixels of a PNG. So a long file may have more chunks. */
const CHUNK_BYTES = 4096

/** What the head of a picture declares. */
export interface Structure {
  type: 'png' | 'jpeg'
  width: number
  height: number
}

/**
 * Walks through a PNG or JPEG without decoding it, and counts what a decoder would have to do. Like decoders, it passes
 * over what it does not know.
 *
 * @returns null for other formats
 * @throws ImageRefusal for too many scans or chunks, and for a picture that is cut off
 */
export function readStructure(file: Buffer): Structure | null {
  try {
    if (file.toString('latin1', 0, 8) === '\x89PNG\r\n\x1a\n') return { type: 'png', ...readPng(file) }
    if (file.toString('latin1', 0, 3) === '\xff\xd8\xff') return { type: 'jpeg', ...readJpeg(file) }
    return null
  } catch (error) {
    // A read past the end of the file.
    if (error instanceof RangeError) throw damaged()
    throw error
  }
}

/** Creates the error for a picture that can't be decoded. */
export const damaged = () => new ImageRefusal('This picture is damaged; choose another one.')

/** Returns the most chunks that a file of so many bytes may have. */
const mostChunks = (bytes: number): number => MOST_CHUNKS + Math.floor(bytes / CHUNK_BYTES)

/** @throws ImageRefusal when a file has so many chunks that reading them is the work */
export function checkChunks(count: number, bytes: number): void {
  const most = mostChunks(bytes)
  if (count > most) throw new ImageRefusal(`This picture has more than ${most} chunks, the most for its size.`)
}

/** @throws ImageRefusal */
export function checkScans(count: number): void {
  if (count > MOST_SCANS) throw new ImageRefusal(`This picture has more than ${MOST_SCANS} scans; save it with fewer.`)
}

/** @throws ImageRefusal */
export function checkFrames(count: number): void {
  if (count > MOST_FRAMES) throw new ImageRefusal(`This picture has more than ${MOST_FRAMES} frames; send a video.`)
}

function readPng(file: Buffer): { width: number; height: number } {
  const size = { width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
  let chunks = 0
  for (let at = 8; ; ) {
    checkChunks(++chunks, file.length)
    const isEnd = file.readUInt32BE(at + 4) === IEND
    at += 12 + file.readUInt32BE(at)
    if (at > file.length) throw damaged()
    if (isEnd) return size
  }
}

const IEND = 0x49454e44

function readJpeg(file: Buffer): { width: number; height: number } {
  let [width, height, scans] = [0, 0, 0]
  for (let at = 2; ; ) {
    if (file.readUInt8(at) !== 0xff) {
      // Coded pixels, or bytes that decoders skip.
      at++
      continue
    }
    const marker = file.readUInt8(at + 1)
    if (marker === 0xff) at++
    else if (isAlone(marker)) at += 2
    else if (marker === 0xd9) {
      if (width === 0 || scans === 0) throw damaged()
      return { width, height }
    } else {
      if (isFrame(marker)) {
        height = Math.max(height, file.readUInt16BE(at + 5))
        width = Math.max(width, file.readUInt16BE(at + 7))
      }
      if (marker === 0xda) checkScans(++scans)
      at += 2 + file.readUInt16BE(at + 2)
    }
  }
}

/** Whether a marker has no length: a stuffed zero, TEM, a restart, a start of an image. */
const isAlone = (marker: number): boolean => marker <= 1 || (marker >= 0xd0 && marker <= 0xd8)

/** Whether a marker is any start of frame (ITU T.81 table B.1). DHT, JPG and DAC lie between them, but are none. */
export const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
