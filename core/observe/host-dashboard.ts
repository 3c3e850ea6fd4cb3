declare module 'fastify' {
  interface FastifyInstance {
    hostDashboard: HostDashboard
  }
}

/** A number on the operator's start page. */
export interface HostStat {
  label: string
  /** Entries with a smaller value come first. */
  order: number
  /** Whether the number is current, which draws the dot. */
  live?: boolean
  /** Returns the number. It is called at each request of the page, so it must be cheap. */
  value(): Promise<number | string> | number | string
}

/** One step of setting up a new server. */
export interface SetupStep {
  title: string
  /** A sentence with the reason and the effect. */
  text: string
  /** Entries with a smaller value come first. */
  order: number
  action: { href: string; label: string }
  done(): Promise<boolean>
}

/** Something that needs the operator. */
export interface HostProblem {
  title: string
  text: string | null
  /** The page about it, and the text of the link. */
  href: string
  label: string
}

/** The operator's start page. Plugins contribute numbers, set-up steps and problems, as they contribute navigation and health. */
export class HostDashboard {
  readonly stats: HostStat[] = []
  readonly setupSteps: SetupStep[] = []
  /** Each returns a problem, or null while there is none. It is called at each request of the page. */
  readonly problems: (() => Promise<HostProblem | null>)[] = []
}
