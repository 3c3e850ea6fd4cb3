declare module 'fastify' {
  interface FastifyInstance {
    overview: Overview
  }
}

/** A number on the first page of whoever runs the server. */
export interface Figure {
  label: string
  /** Smaller comes first. */
  order: number
  /** It is about this very moment: drawn with the dot. */
  live?: boolean
  /** Asked at each look at the page, so it must be cheap. */
  value(): Promise<number | string> | number | string
}

/** One of the first steps of whoever runs a new server. */
export interface FirstStep {
  title: string
  /** A sentence: why, and what happens. */
  text: string
  /** Smaller comes first. */
  order: number
  action: { href: string; label: string }
  done(): Promise<boolean>
}

/** What plugins contribute to the first page of whoever runs the server, as they contribute navigation and health. */
export class Overview {
  readonly figures: Figure[] = []
  readonly steps: FirstStep[] = []
}
