import { InvalidRequest } from '../../../core/errors.ts'
import { ImageRefusal, type Images } from '../../../core/images/images.ts'

/** The largest accepted picture, in bytes and pixels a side. */
export const LARGEST = { bytes: 3 * 1024 * 1024, side: 2048 }
const SMALLEST_SIDE = 16
const SIDE = 256

/**
 * Makes an avatar from an upload: decoded, cropped to a square, reduced to 256 × 256, encoded again. No uploaded byte
 * remains, so neither the location of a photograph nor a disguised file does.
 *
 * @param bytes PNG or JPEG, by content and not by name
 * @throws InvalidRequest
 */
export async function avatarFrom(bytes: Buffer, { images, playerId }: { images: Images; playerId: string }) {
  const most = { side: LARGEST.side, pixels: LARGEST.side ** 2 }
  const task = { bytes, most, leastSide: SMALLEST_SIDE, side: SIDE, fit: 'cover', format: 'auto' } as const
  try {
    return await images.resize(task, { owner: playerId })
  } catch (error) {
    if (!(error instanceof ImageRefusal)) throw error
    const { message } = error
    throw new InvalidRequest(message).with({ details: [{ path: 'picture', message }] })
  }
}

/** Returns the media type from the first byte of an image that `avatarFrom` made. */
export const avatarType = (bytes: Buffer): string => (bytes[0] === 0x89 ? 'image/png' : 'image/jpeg')
