/** The task of a worker: the content of a card. */
export interface CardTask {
  title: string
  /** Name of the platform. */
  site: string
  /** Where it leads to, as people read it. */
  address: string
  /** One of our own drawings, 160 by 120. */
  drawing: string
  /** A picture in its place: PNG, JPEG, WebP or GIF. */
  picture: Uint8Array | null
}

export type CardAnswer = { png: Uint8Array } | { failure: string }

export const CARD = { width: 1200, height: 630 } as const
