/** The task of a worker: the content of a card. */
export interface CardTask {
  title: string
  /** The name of the platform. */
  site: string
  /** The link's address in display form. */
  address: string
  /** A generated drawing, 160 by 120. */
  drawing: string
  /** A picture that replaces the drawing: PNG, JPEG, WebP or GIF. */
  picture: Uint8Array | null
}

export type CardAnswer = { png: Uint8Array } | { failure: string }

export const CARD = { width: 1200, height: 630 } as const
