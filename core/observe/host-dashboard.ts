declare module 'fastify' {
  interface FastifyInstance {
    hostDashboard: HostDashboard
  }
}

/** A number on the host's first page. */
export interface HostStat {
  label: string
  /** Smaller comes first. */
  order: number
  /** It is about this very moment: drawn with the dot. */
  live?: boolean
  /** Asked at each look at the page, so it must be cheap. */
  value(): Promise<number | string> | number | string
}

/** One step of setting up a new server. */
export interface SetupStep {
  title: string
  /** A sentence: why, and what happens. */
  text: string
  /** Smaller comes first. */
  order: number
  action: { href: string; label: string }
  done(): Promise<boolean>
}

/** The host's first page. Plugins contribute numbers and set-up steps, as they contribute navigation and health. */
export class HostDashboard {
  readonly stats: HostStat[] = []
  readonly setupSteps: SetupStep[] = []
}
