/** A picture or video of a game, as its row keeps it. */
export interface StoredMedia {
  id: string
  contentType: MediaType
  width: number
  height: number
  size: number
  sha256: string
}

/** Media types of a game: formats that browsers display and never run. */
export const MEDIA_TYPES = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
} as const
export type MediaType = keyof typeof MEDIA_TYPES

/** Facts about a file, read from its bytes. */
export interface Inspected {
  contentType: MediaType
  /** In pixels, as it is shown. */
  width: number
  height: number
}

export const kindOf = (contentType: MediaType): 'image' | 'video' =>
  contentType.startsWith('video/') ? 'video' : 'image'

/** Where the bytes are kept. The id is never used twice, so the blob is immutable. */
export const mediaKey = (id: string): string => `${MEDIA_PREFIX}${id}`
export const MEDIA_PREFIX = 'games/media/'

/** The path on the portal; it changes when the content does. */
export const mediaPath = (gameId: string, { id, contentType }: Pick<StoredMedia, 'id' | 'contentType'>): string =>
  `/media/${gameId}/${id}.${MEDIA_TYPES[contentType]}`
