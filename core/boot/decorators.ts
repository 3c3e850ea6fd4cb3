import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { FileSource } from '../data/built-files.ts'
import type { Database } from '../data/database.ts'
import type { KeyRings } from '../data/key-rings.ts'
import type { Keys } from '../data/keys.ts'
import type { WriteGate } from '../data/moving/write-gate.ts'
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
import type { Siblings } from '../origins/ports.ts'
import type { PlainHttp } from '../origins/tls.ts'
import type { BrowserFiles } from '../pages/browser-files.ts'
import type { Site } from '../pages/index.ts'
import type { KeptPages } from '../pages/kept-pages.ts'

/** A message for the operator who starts the program, such as a set-up link or a warning. */
export interface Announcement {
  label: string
  /** Returns the text, or null when there is no message. */
  text(): Promise<string | null>
  /** A picture in characters, shown below all other output, on a terminal only. */
  picture?(): Promise<string>
}

/** The single binary of the program. */
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
    /** The message bus between nodes. For domain events use `events`. */
    bus: Bus
    db: Database
    /** Stops this process from writing while a move takes its last step. */
    writeGate: WriteGate
    events: Events
    keys: Keys
    /** Keys that can be rotated. */
    keyRings: KeyRings
    jobs: Jobs
    health: Health
    connections: Connections
    origins: Origins
    gamePorts: GamePorts
    site: Site
    /** The certificate authority of this LAN; null unless the platform creates its own certificates. */
    localAuthority: LocalAuthority | null
    plainHttp: PlainHttp
    httpsRedirects: HttpsRedirects
    program: Program | null
    /** The packages for game developers, by file name. */
    clientPackages: FileSource
    hostDashboard: HostDashboard
    /** Spans for slow work. */
    tracing: Tracing
    /** The place of this process among those of this machine. */
    siblings: Siblings
    /** The version of the program. */
    programVersion: string
    /** The configured driver names, by family. */
    driverNames: Readonly<Record<string, string>>
    /** Returns the effective configuration as text, with secrets masked; null when the program does not provide it. */
    describeConfig: (() => string) | null
    /** Messages shown once the server listens. Plugins add their own. */
    announcements: Announcement[]
  }
}
