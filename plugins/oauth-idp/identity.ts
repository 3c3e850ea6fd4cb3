import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance, preHandlerAsyncHookHandler } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { Database } from '../../core/data/database.ts'
import type { Principal } from '../../core/http/auth.ts'
import type { View } from '../../core/pages/index.ts'
import { Administration } from './admin/administration.ts'
import { Invitations } from './admin/invitations.ts'
import type { PlayerLink } from './admin/player-page.ts'
import { Apps } from './apps/apps.ts'
import type { OAuthClient } from './apps/client.ts'
import { PageOrigins } from './apps/page-origins.ts'
import { Registrations } from './apps/registrations.ts'
import { SignIns } from './apps/sign-ins.ts'
import { SuspendedClients } from './apps/suspended-clients.ts'
import type { AuthConfig, AuthLimits, OAuthConfig } from './config.ts'
import { LiveSecrets } from './live-secrets.ts'
import { AccessTokens } from './oauth/access-tokens.ts'
import { BuiltinClients } from './oauth/builtin-clients.ts'
import { Codes } from './oauth/codes.ts'
import { ConsentRules } from './oauth/consent-rules.ts'
import { Consents } from './oauth/consents.ts'
import { DeviceCodes } from './oauth/device-codes.ts'
import { Grants } from './oauth/grants.ts'
import { IdTokens } from './oauth/id-tokens.ts'
import { RefreshTokens } from './oauth/refresh-tokens.ts'
import { ProtectedResources } from './oauth/resources.ts'
import { secretKinds } from './oauth/secret-kinds.ts'
import { type SigningAlgorithm, SigningKeys } from './oauth/signing-keys.ts'
import { StoredRequests } from './oauth/stored-requests.ts'
import { Passkeys } from './passkeys/passkeys.ts'
import { AccountDeletion } from './players/account-deletion.ts'
import { AccountEmails } from './players/account-emails.ts'
import { AddressChange } from './players/address-change.ts'
import { Avatars } from './players/avatars.ts'
import { OneTimeTokens } from './players/one-time-tokens.ts'
import { PasswordAuthentication } from './players/password-authentication.ts'
import { newHashingQueue, PasswordHasher } from './players/passwords.ts'
import { Players } from './players/players.ts'
import { Recovery } from './players/recovery.ts'
import { Setup } from './players/setup.ts'
import { SignInMethods } from './players/sign-in-methods.ts'
import { SignUp } from './players/sign-up.ts'
import { SignUpChallenge } from './players/sign-up-challenge.ts'
import { UnreadMessages } from './players/unread-messages.ts'
import { WaysBack } from './players/way-back.ts'
import { BrowserCookie } from './sessions/browser-cookie.ts'
import { isRecentCaller, recentSignInHook, requireRecentSignIn } from './sessions/recent-sign-in.ts'
import { Sessions } from './sessions/sessions.ts'
import type { SettingsEntry } from './settings/header.ts'
import { providerOf } from './upstream/providers.ts'
import { Upstream } from './upstream/upstream.ts'

/** Accounts, sessions and applications: the single service of this plugin. */
export class Identity {
  readonly config: AuthConfig
  readonly oauth: OAuthConfig
  readonly limits: AuthLimits
  readonly players: Players
  readonly passwords: PasswordAuthentication
  /** The sign-in methods other than the password. Other plugins add theirs. */
  readonly signInMethods: SignInMethods
  readonly setup: Setup
  readonly signUp: SignUp
  readonly recovery: Recovery
  /** By which a browser is known again before anybody is signed in. */
  readonly browser: BrowserCookie
  readonly waysBack: WaysBack
  readonly storedRequests: StoredRequests
  readonly addressChange: AddressChange
  readonly avatars: Avatars
  readonly passkeys: Passkeys
  readonly upstream: Upstream
  /** Deletes accounts. Other plugins add an exporter of their data and a cleanup that removes it. */
  readonly deletion: AccountDeletion
  readonly administration: Administration
  readonly invitations: Invitations
  readonly unread: UnreadMessages
  /** Stores a message and enqueues its mail, in the caller's transaction. The plugin with the messages sets it. */
  messenger:
    | ((em: SqlEntityManager, playerId: string, message: { subject: string; text: string }) => Promise<void>)
    | null = null
  readonly #db: Database
  readonly #recent: { db: Database; clock: Clock }
  readonly #emails: AccountEmails
  readonly #portalUrl: string
  readonly #sendsMail: boolean
  readonly #tokens: OneTimeTokens
  readonly sessions: Sessions
  readonly apps: Apps
  readonly suspendedClients = new SuspendedClients()
  /** Recognises secrets that the platform has issued. Other plugins add their kinds. */
  readonly liveSecrets = new LiveSecrets()
  readonly pageOrigins: PageOrigins
  readonly signIns: SignIns
  readonly grants: Grants
  readonly codes: Codes
  readonly devices: DeviceCodes
  readonly builtins: BuiltinClients
  readonly accessTokens: AccessTokens
  readonly refreshTokens: RefreshTokens
  readonly signingKeys: Record<SigningAlgorithm, SigningKeys>
  readonly idTokens: IdTokens
  readonly consents: Consents
  readonly consentRules: ConsentRules
  /** Clients without an owner: those that register themselves. */
  readonly registrations: Registrations
  /** The protected resources beside the API of games. Other plugins add theirs. */
  readonly resources = new ProtectedResources()
  /** Sections of /settings/connected. Other plugins add theirs. */
  readonly connectedSections: (() => View)[] = []
  /** Store what plugins have noted of connections in memory, before the list of them is read. */
  readonly connectionFlushes: (() => Promise<void>)[] = []
  /** The pages for the staff about a player; `href` takes the id. Other plugins add theirs. */
  readonly playerLinks: PlayerLink[] = []
  /** The pages under /settings. Other plugins add theirs. */
  readonly settings: SettingsEntry[] = []

  constructor(app: FastifyInstance, config: AuthConfig, limits: AuthLimits, oauth: OAuthConfig) {
    const { db, clock, events, rateLimiter, origins } = app
    this.config = config
    this.oauth = oauth
    this.limits = limits
    const hashing = newHashingQueue()
    const hasher = new PasswordHasher(config.passwordHashing, hashing)
    if (hasher.isWeak)
      app.log.warn(config.passwordHashing, 'password hashes are cheaper to guess than OWASP recommends')
    const contact = app.site.legal.contact?.text ?? null
    const around = { db, clock, events, rateLimiter, hasher, contact, portalUrl: origins.portal, ...config, ...limits }
    this.players = new Players(around)
    this.passwords = new PasswordAuthentication({ ...around, players: this.players })
    this.setup = new Setup({
      db,
      players: this.players,
      key: app.keys.derive('oauth-idp/setup-link'),
      portalUrl: origins.portal,
    })
    this.sessions = new Sessions({ db, clock, events, portal: origins.portal })
    this.unread = new UnreadMessages({ db, clock, sessions: this.sessions })
    const { suspendedClients } = this
    const { applicationsPerPlayer } = limits
    const appsContext = { db, clock, events, log: app.log, lan: !origins.secure, suspendedClients }
    this.apps = new Apps({ ...appsContext, applicationsPerPlayer })
    this.pageOrigins = new PageOrigins({ db, clock, events })
    this.signIns = new SignIns({ db, clock, log: app.log, players: this.players })
    for (const kind of secretKinds({ db, clock })) this.liveSecrets.add(kind)
    this.builtins = new BuiltinClients(this.apps)
    const shared = { db, clock, players: this.players, suspendedClients }
    this.grants = new Grants(shared)
    this.accessTokens = new AccessTokens(shared)
    this.codes = new Codes({ ...shared, grants: this.grants, signIns: this.signIns })
    this.refreshTokens = new RefreshTokens({
      ...shared,
      grants: this.grants,
      leewaySeconds: oauth.refreshLeewaySeconds,
      key: app.keys.derive('oauth-idp/refresh-tokens'),
    })
    this.devices = new DeviceCodes({ ...shared, grants: this.grants, key: app.keys.derive('oauth-idp/user-codes') })
    const wrappingKey = app.keys.derive('oauth-idp/signing-keys')
    const keys = { db, clock, wrappingKey, keyRings: app.keyRings }
    this.signingKeys = { RS256: new SigningKeys('RS256', keys), ES256: new SigningKeys('ES256', keys) }
    this.idTokens = new IdTokens({ clock, keys: this.signingKeys, issuer: origins.portal })
    this.registrations = new Registrations({ db, clock })
    this.consents = new Consents({ db, clock, events })
    const { players, passwords, sessions, apps, consents } = this
    this.consentRules = new ConsentRules({ apps, consents, oauth })
    const signInMethods = new SignInMethods(clock, {
      host: new URL(origins.portal).hostname,
      providers: Object.keys(config.providers),
    })
    this.signInMethods = signInMethods
    const tokens = new OneTimeTokens({ db, clock, keys: app.keys })
    this.#tokens = tokens
    const site = { portalUrl: origins.portal, siteName: app.site.name, contact }
    const emails = new AccountEmails({ db, jobs: app.jobs, mail: app.mail, log: app.log, players, tokens, ...site })
    this.#db = db
    this.#recent = { db, clock }
    this.#emails = emails
    this.#portalUrl = origins.portal
    this.#sendsMail = (app.config.mail as { driver: string }).driver !== 'log'
    const challenge = new SignUpChallenge({ ...around, hashing, key: app.keys.derive('oauth-idp/sign-up-challenge') })
    this.browser = new BrowserCookie(origins.portal)
    this.waysBack = new WaysBack({ portal: origins.portal, browser: this.browser })
    this.storedRequests = new StoredRequests({ ...around, tokens })
    this.signUp = new SignUp({ ...around, players, signInMethods, tokens, emails, challenge })
    this.recovery = new Recovery({ ...around, players, passwords, signInMethods, tokens, emails })
    this.addressChange = new AddressChange({ ...around, players, passwords, tokens, emails })
    this.avatars = new Avatars({ ...around, storage: app.storage, images: app.images })
    this.passkeys = new Passkeys({
      ...around,
      ...site,
      players,
      signInMethods,
      emails,
      key: app.keys.derive('oauth-idp/passkey-challenges'),
    })
    const providers = Object.entries(config.providers).map(([name, each]) => providerOf(name, each, origins.portal))
    this.upstream = new Upstream({ ...around, players, signInMethods, tokens, emails, providers })
    this.deletion = new AccountDeletion({ db, events, players, sessions, apps, avatars: this.avatars })
    this.deletion.exporters.set('signIns', (playerId) => this.signIns.export(playerId))
    const { deletion, avatars } = this
    this.administration = new Administration({ ...around, players, tokens, emails, deletion, avatars })
    this.invitations = new Invitations({ ...around, tokens })
  }

  /** Finds a client for the endpoints, or null. With `oauth.registration: off` none that registered earlier is known. */
  async findClient(clientId: string): Promise<OAuthClient | null> {
    const client = await this.apps.find(clientId)
    return client !== null && client.registration !== null && this.oauth.registration === 'off' ? null : client
  }

  /** Returns the hook of a form that needs a sign-in of the last ten minutes. @param wayBack as of `recentSignInHook` */
  recentSignIn(wayBack: string): preHandlerAsyncHookHandler {
    return recentSignInHook(this.#recent, wayBack)
  }

  /**
   * Checks the caller of a JSON route that gives away what a session which somebody may have left open should not.
   * Tokens pass.
   *
   * @throws Forbidden when the caller's session began more than ten minutes ago
   */
  async requireRecentSignIn(caller: Principal): Promise<void> {
    if (caller.kind !== 'session' || (await isRecentCaller(this.#recent, caller))) return
    await requireRecentSignIn(this.#recent, caller.credentialId)
  }

  /** Whether a caller's session began within the last ten minutes, or is a guest's, who has nothing to sign in with. */
  isRecentCaller(caller: Principal): Promise<boolean> {
    return isRecentCaller(this.#recent, caller)
  }

  /** Returns the one-time link that creates the first administrator, or null once there is one. */
  setupUrl(): Promise<string | null> {
    return this.setup.url()
  }

  /** Sends mail to all administrators in the background. @param subject one line */
  async writeToAdmins(subject: string, text: string): Promise<void> {
    const admins = await this.#db.query<{ id: string }>('select id from players where is_admin = ? and disabled = ?', [
      true,
      false,
    ])
    await this.#db.transaction(async (em) => {
      for (const { id } of admins) await this.writeTo(em, id, subject, text)
    })
  }

  /** Enqueues mail to all administrators and moderators in the caller's transaction. @param subject one line */
  async writeToStaff(em: SqlEntityManager, subject: string, text: string): Promise<void> {
    const staff = await em.execute<{ id: string }[]>(
      'select id from players where (is_admin = ? or moderator = ?) and disabled = ?',
      [true, true, false],
      'all',
    )
    for (const { id } of staff) await this.writeTo(em, id, subject, text)
  }

  /** Enqueues mail to a player in the caller's transaction. @param subject one line */
  writeTo(em: SqlEntityManager, playerId: string, subject: string, text: string): Promise<void> {
    return this.#emails.enqueue(em, { kind: 'notice', playerId, subject, text, portalUrl: this.#portalUrl })
  }

  /** Enqueues the mail to a player who was disabled, in the caller's transaction. One who is not by then gets none. */
  writeDisabled(em: SqlEntityManager, playerId: string): Promise<void> {
    return this.#emails.enqueue(em, { kind: 'disabled', playerId })
  }

  /**
   * Tells a player something, in the caller's transaction: by mail, and on the page of their messages where a plugin has
   * one.
   *
   * @param subject one line
   */
  tell(em: SqlEntityManager, playerId: string, subject: string, text: string): Promise<void> {
    return this.messenger?.(em, playerId, { subject, text }) ?? this.writeTo(em, playerId, subject, text)
  }

  /** Whether mail leaves this platform. */
  get sendsMail(): boolean {
    return this.#sendsMail
  }

  /**
   * Enqueues mail to an address in the caller's transaction, whether or not it has an account here.
   *
   * @param to normalised @param subject one line
   */
  writeToAddress(
    em: SqlEntityManager,
    to: string,
    { subject, text }: { subject: string; text: string },
  ): Promise<void> {
    return this.#emails.enqueue(em, { kind: 'letter', to, subject, text, portalUrl: this.#portalUrl })
  }

  /** Deletes expired rows. */
  async sweep(signal?: AbortSignal): Promise<void> {
    await this.sessions.sweep(signal)
    await this.#tokens.sweep(signal)
    for (const id of await this.signUp.lostGuests()) {
      await this.deletion.remove(id, { condition: (em) => this.signUp.isLost(em, id), decisions: null })
    }
    await this.grants.sweep(signal)
    await this.registrations.sweep(signal)
    await this.signIns.sweep(signal)
    await Promise.all(Object.values(this.signingKeys).map((keys) => keys.sweep()))
  }
}
