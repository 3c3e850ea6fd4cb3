import type { FastifyInstance } from 'fastify'
import { Apps } from './apps/apps.ts'
import type { AuthConfig, AuthLimits } from './config.ts'
import { AccessTokens } from './oauth/access-tokens.ts'
import { Codes } from './oauth/codes.ts'
import { Consents } from './oauth/consents.ts'
import { Players } from './players/players.ts'
import { Setup } from './players/setup.ts'
import { Sessions } from './sessions/sessions.ts'
import type { SettingsEntry } from './settings/header.ts'

/** Who people are, and who may ask: the one service of this plugin, one field a noun. */
export class Identity {
  readonly config: AuthConfig
  readonly limits: AuthLimits
  readonly players: Players
  readonly setup: Setup
  readonly sessions: Sessions
  readonly apps: Apps
  readonly codes: Codes
  readonly accessTokens: AccessTokens
  readonly consents: Consents
  /** The pages under /settings; other plugins add theirs. */
  readonly settings: SettingsEntry[] = []

  constructor(app: FastifyInstance, config: AuthConfig, limits: AuthLimits) {
    const { db, clock, events, rateLimiter, origins } = app
    this.config = config
    this.limits = limits
    this.players = new Players({ db, clock, events, rateLimiter, ...config, ...limits })
    this.setup = new Setup({
      db,
      players: this.players,
      key: app.keys.derive('oauth-idp/setup-link'),
      portalUrl: origins.portal,
    })
    this.sessions = new Sessions({ db, clock, events, secure: origins.secure })
    this.apps = new Apps({ db, clock, events, lan: !origins.secure })
    this.accessTokens = new AccessTokens({ db, clock })
    this.codes = new Codes({ db, clock, players: this.players, accessTokens: this.accessTokens })
    this.consents = new Consents({ db, clock })
  }

  /** The one-time link that makes the first administrator, or null once there is one. */
  setupUrl(): Promise<string | null> {
    return this.setup.url()
  }

  /** Forgets what has run out. */
  async sweep(): Promise<void> {
    await this.sessions.sweep()
    await this.codes.sweep()
    await this.accessTokens.sweep()
  }
}
