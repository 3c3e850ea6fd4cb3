/** A picture or video of a game in the form that its row stores. */
export interface StoredMedia {
  id: string
  contentType: MediaType
  width: number
  height: number
  size: number
  sha256: string
}

/** The media types of a game's media: formats that browsers display and never execute. */
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
  /** The displayed size in pixels. */
  width: number
  height: number
}

export const kindOf = (contentType: MediaType): 'image' | 'video' =>
  contentType.startsWith('video/') ? 'video' : 'image'

/** Returns the storage key. The id is never reused, so the blob is immutable. */
export const mediaKey = (id: string): string => `${MEDIA_PREFIX}${id}`
export const MEDIA_PREFIX = 'games/media/'

/** Returns the path on the portal, which changes with the content. */
export const mediaPath = (gameId: string, { id, contentType }: Pick<StoredMedia, 'id' | 'contentType'>): string =>
  `/media/${gameId}/${id}.${MEDIA_TYPES[contentType]}`
