import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Database } from '../../core/database.ts'
import { Administration } from './admin/administration.ts'
import { Apps } from './apps/apps.ts'
import { SignIns } from './apps/sign-ins.ts'
import type { AuthConfig, AuthLimits, OAuthConfig } from './config.ts'
import { AccessTokens } from './oauth/access-tokens.ts'
import { BuiltinClients } from './oauth/builtin-clients.ts'
import { Codes } from './oauth/codes.ts'
import { Consents } from './oauth/consents.ts'
import { DeviceCodes } from './oauth/device-codes.ts'
import { Grants } from './oauth/grants.ts'
import { IdTokens } from './oauth/id-tokens.ts'
import { RefreshTokens } from './oauth/refresh-tokens.ts'
import { SigningKeys } from './oauth/signing-keys.ts'
import { Passkeys } from './passkeys/passkeys.ts'
import { AddressChange } from './players/address-change.ts'
import { Avatars } from './players/avatars.ts'
import { Letters } from './players/letters.ts'
import { OneTimeTokens } from './players/one-time-tokens.ts'
import { Players } from './players/players.ts'
import { Recovery } from './players/recovery.ts'
import { Removal } from './players/removal.ts'
import { Setup } from './players/setup.ts'
import { SignUp } from './players/sign-up.ts'
import { WaysIn } from './players/ways-in.ts'
import { Sessions } from './sessions/sessions.ts'
import type { SettingsEntry } from './settings/header.ts'
import { providerOf } from './upstream/providers.ts'
import { Upstream } from './upstream/upstream.ts'

/** Who people are, and who may ask: the one service of this plugin, one field a noun. */
export class Identity {
  readonly config: AuthConfig
  readonly oauth: OAuthConfig
  readonly limits: AuthLimits
  readonly players: Players
  /** By what a player comes in beside the password; other plugins add theirs. */
  readonly waysIn: WaysIn
  readonly setup: Setup
  readonly signUp: SignUp
  readonly recovery: Recovery
  readonly addressChange: AddressChange
  readonly avatars: Avatars
  readonly passkeys: Passkeys
  readonly upstream: Upstream
  /** The end of accounts; other plugins add their part of the export to `parts`, what goes with it to `clearings`. */
  readonly removal: Removal
  readonly administration: Administration
  readonly #db: Database
  readonly #letters: Letters
  readonly #tokens: OneTimeTokens
  readonly sessions: Sessions
  readonly apps: Apps
  readonly signIns: SignIns
  readonly grants: Grants
  readonly codes: Codes
  readonly devices: DeviceCodes
  readonly builtins: BuiltinClients
  readonly accessTokens: AccessTokens
  readonly refreshTokens: RefreshTokens
  readonly signingKeys: SigningKeys
  readonly idTokens: IdTokens
  readonly consents: Consents
  /** The pages under /settings; other plugins add theirs. */
  readonly settings: SettingsEntry[] = []

  constructor(app: FastifyInstance, config: AuthConfig, limits: AuthLimits, oauth: OAuthConfig) {
    const { db, clock, events, rateLimiter, origins } = app
    this.config = config
    this.oauth = oauth
    this.limits = limits
    const around = { db, clock, events, rateLimiter, portalUrl: origins.portal, ...config, ...limits }
    this.players = new Players(around)
    this.setup = new Setup({
      db,
      players: this.players,
      key: app.keys.derive('oauth-idp/setup-link'),
      portalUrl: origins.portal,
    })
    this.sessions = new Sessions({ db, clock, events, secure: origins.secure })
    this.apps = new Apps({ db, clock, events, log: app.log, lan: !origins.secure })
    this.signIns = new SignIns({ db, clock, log: app.log })
    this.builtins = new BuiltinClients(this.apps)
    const shared = { db, clock, players: this.players }
    this.grants = new Grants(shared)
    this.accessTokens = new AccessTokens(shared)
    this.codes = new Codes({ ...shared, grants: this.grants, signIns: this.signIns })
    this.refreshTokens = new RefreshTokens({ ...shared, grants: this.grants })
    this.devices = new DeviceCodes({ db, clock, key: app.keys.derive('oauth-idp/user-codes') })
    this.signingKeys = new SigningKeys({ db, clock, wrappingKey: app.keys.derive('oauth-idp/signing-keys') })
    this.idTokens = new IdTokens({ clock, keys: this.signingKeys, issuer: origins.portal })
    this.consents = new Consents({ db, clock, events })
    const { players, sessions, apps } = this
    const waysIn = new WaysIn(clock)
    this.waysIn = waysIn
    const tokens = new OneTimeTokens({ db, clock, key: app.keys.derive('oauth-idp/one-time-tokens') })
    this.#tokens = tokens
    const site = { portalUrl: origins.portal, siteName: app.site.name }
    const letters = new Letters({ db, jobs: app.jobs, mail: app.mail, log: app.log, players, tokens, ...site })
    this.#db = db
    this.#letters = letters
    this.signUp = new SignUp({ ...around, players, waysIn, tokens, letters })
    this.recovery = new Recovery({ ...around, players, waysIn, tokens, letters })
    this.addressChange = new AddressChange({ ...around, players, tokens, letters })
    this.avatars = new Avatars({ ...around, storage: app.storage })
    this.passkeys = new Passkeys({ ...around, ...site, players, tokens })
    const providers = Object.entries(config.providers).map(([name, each]) => providerOf(name, each, origins.portal))
    this.upstream = new Upstream({ ...around, players, tokens, providers })
    this.removal = new Removal({ db, events, players, sessions, apps, avatars: this.avatars })
    this.administration = new Administration({ ...around, players, tokens })
  }

  /** The one-time link that makes the first administrator, or null once there is one. */
  setupUrl(): Promise<string | null> {
    return this.setup.url()
  }

  /** Writes to everyone who hosts this platform, in the background. @param subject one line */
  async writeToAdmins(subject: string, text: string): Promise<void> {
    const admins = await this.#db.query<{ id: string }>('select id from players where is_admin = ? and disabled = ?', [
      true,
      false,
    ])
    await this.#db.transaction(async (em) => {
      for (const { id } of admins) await this.#letters.enqueue(em, { kind: 'notice', playerId: id, subject, text })
    })
  }

  /** Writes to a player, in the background; in the caller's transaction. @param subject one line */
  writeTo(em: SqlEntityManager, playerId: string, subject: string, text: string): Promise<void> {
    return this.#letters.enqueue(em, { kind: 'notice', playerId, subject, text })
  }

  /** Forgets what has run out. */
  async sweep(): Promise<void> {
    await this.sessions.sweep()
    await this.#tokens.sweep()
    for (const id of await this.signUp.lostGuests()) {
      await this.removal.remove(id, (em) => this.signUp.isLost(em, id))
    }
    await this.grants.sweep()
    await this.signingKeys.sweep()
  }
}
