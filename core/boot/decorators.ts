import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../data/database.ts'
import type { KeyRings } from '../data/key-rings.ts'
import type { Keys } from '../data/keys.ts'
import type { Bus, Events } from '../events.ts'
import type { Connections } from '../http/connections.ts'
import type { HttpsRedirects } from '../http/https-redirects.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Health } from '../observe/health.ts'
import type { HostDashboard } from '../observe/host-dashboard.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { GamePorts } from '../origins/game-ports.ts'
import type { LocalAuthority } from '../origins/local-authority.ts'
import type { Origins } from '../origins/origins.ts'
import type { PlainHttp } from '../origins/tls.ts'
import type { BrowserFiles } from '../pages/browser-files.ts'
import type { Site } from '../pages/index.ts'
import type { KeptPages } from '../pages/kept-pages.ts'

/** A message for the person who starts the program: a set-up link, a warning. */
export interface Announcement {
  label: string
  /** Null: nothing to say. */
  text(): Promise<string | null>
  /** A picture in characters, shown below everything else on a terminal only. */
  picture?(): Promise<string>
}

/** The program as a single binary. */
export interface Program {
  path: string
  version: string
}

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    browserFiles: BrowserFiles
    keptPages: KeptPages
    clock: Clock
    /** The message bus between nodes; for events use `events`. */
    bus: Bus
    db: Database
    events: Events
    keys: Keys
    /** Keys that turn over. */
    keyRings: KeyRings
    jobs: Jobs
    health: Health
    connections: Connections
    origins: Origins
    gamePorts: GamePorts
    site: Site
    /** The authority that signs for this LAN; null without https of our own. */
    localAuthority: LocalAuthority | null
    plainHttp: PlainHttp
    httpsRedirects: HttpsRedirects
    program: Program | null
    hostDashboard: HostDashboard
    /** Spans for what takes time. */
    tracing: Tracing
    /** Version of the program. */
    programVersion: string
    /** The configured drivers, by family. */
    driverNames: Readonly<Record<string, string>>
    /** The configuration as it is in force, as text, secrets masked; null where the program did not say. */
    describeConfig: (() => string) | null
    /** Shown once the server listens; plugins add theirs. */
    announcements: Announcement[]
  }
}
