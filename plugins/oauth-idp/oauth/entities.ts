import { defineEntity, p } from '@mikro-orm/core'

const AuthorizationCodeSchema = defineEntity({
  name: 'AuthorizationCode',
  tableName: 'authorization_codes',
  properties: {
    /** SHA-256 of the code. */
    codeHash: p.string().length(43).primary(),
    clientId: p.string().length(60).index(),
    playerId: p.string().length(30).index(),
    consentId: p.string().length(30),
    redirectUri: p.string().length(2000),
    /** Space-separated. */
    scope: p.string().length(200),
    /** S256 challenge (RFC 7636); null when the client sent none. */
    codeChallenge: p.string().length(43).nullable(),
    /** The nonce of the id token (OpenID Connect Core 3.1.2.1). */
    nonce: p.string().length(500).nullable(),
    /** The time of the player's sign-in to the portal. */
    authTime: p.datetime(3),
    expiresAt: p.datetime(3).index(),
    /** A redeemed code is kept until its tokens have expired, since a replay revokes them. */
    redeemedAt: p.datetime(3).nullable(),
    /** The protected resource for which the tokens are (RFC 8707); null for the API of games. */
    resource: p.string().length(500).nullable(),
    /** The browser session that asked. Null in rows of the previous version. */
    sessionId: p.string().length(30).nullable(),
  },
})

export class AuthorizationCode extends AuthorizationCodeSchema.class {}
AuthorizationCodeSchema.setClass(AuthorizationCode)

const AccessTokenSchema = defineEntity({
  name: 'AccessToken',
  tableName: 'oauth_access_tokens',
  properties: {
    id: p.string().length(30).primary(),
    /** SHA-256 of the token. */
    tokenHash: p.string().length(43).unique(),
    clientId: p.string().length(60).index(),
    playerId: p.string().length(30).index(),
    /** The player's consent on which the token depends. Without it the token is invalid. */
    consentId: p.string().length(30),
    scope: p.string().length(200),
    /** The family: the hash of the code that started it. */
    grantId: p.string().length(43).index(),
    expiresAt: p.datetime(3).index(),
    /** The only place where the token is valid; null for the API of games. */
    resource: p.string().length(500).nullable(),
  },
})

export class AccessToken extends AccessTokenSchema.class {}
AccessTokenSchema.setClass(AccessToken)

const RefreshTokenSchema = defineEntity({
  name: 'RefreshToken',
  tableName: 'oauth_refresh_tokens',
  properties: {
    /** SHA-256 of the token. */
    tokenHash: p.string().length(43).primary(),
    clientId: p.string().length(60).index(),
    playerId: p.string().length(30).index(),
    consentId: p.string().length(30),
    scope: p.string().length(200),
    grantId: p.string().length(43).index(),
    authTime: p.datetime(3),
    expiresAt: p.datetime(3).index(),
    /** A used token is kept, because a second use proves that more than one party holds it. */
    usedAt: p.datetime(3).nullable(),
    resource: p.string().length(500).nullable(),
  },
})

export class RefreshToken extends RefreshTokenSchema.class {}
RefreshTokenSchema.setClass(RefreshToken)

const DeviceCodeSchema = defineEntity({
  name: 'DeviceCode',
  tableName: 'oauth_device_codes',
  properties: {
    /** SHA-256 of the device code. */
    deviceHash: p.string().length(43).primary(),
    /** Keyed hash of the user code, which is short enough for a brute-force search. */
    userHash: p.string().length(43).unique(),
    clientId: p.string().length(60).index(),
    scope: p.string().length(200),
    /** The name that the device gave itself, for display only. */
    label: p.string().length(80),
    machine: p.string().length(80),
    /** `pending`, `approved` or `denied`. */
    decision: p.string().length(10),
    playerId: p.string().length(30).nullable().index(),
    consentId: p.string().length(30).nullable(),
    authTime: p.datetime(3).nullable(),
    intervalSeconds: p.integer(),
    polledAt: p.datetime(3).nullable(),
    expiresAt: p.datetime(3).index(),
  },
})

/** A device that waits for approval by a player elsewhere (RFC 8628). */
export class DeviceCode extends DeviceCodeSchema.class {}
DeviceCodeSchema.setClass(DeviceCode)

const ConsentSchema = defineEntity({
  name: 'Consent',
  tableName: 'oauth_consents',
  properties: {
    playerId: p.string().length(30).primary(),
    clientId: p.string().length(60).primary().index(),
    /** Each consent after a revocation has a new id, so that values which depended on the old one stay invalid. */
    id: p.string().length(30).unique(),
    /** All scopes that the client may receive, space-separated. Those of protected resources are marked (consents.ts). */
    scope: p.string().length(200),
    /** Whether the player was asked. Hosted games receive a name without a question. */
    asked: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    /** The last use by an assistant, and in a few words what for. */
    lastUsedAt: p.datetime(3).nullable(),
    lastUse: p.string().length(200).nullable(),
  },
})

/** A player's consent for an application, which is requested once and can be revoked. */
export class Consent extends ConsentSchema.class {}
ConsentSchema.setClass(Consent)

const SigningKeySchema = defineEntity({
  name: 'SigningKey',
  tableName: 'oauth_signing_keys',
  properties: {
    /** The signing period, counted in periods since 1970 (oauth/signing-keys.ts). Each period has one key. */
    period: p.integer().primary(),
    /** The private JWK, encrypted with a key that is not stored in the database. */
    sealed: p.string().length(1000),
    publicJwk: p.json<Record<string, unknown>>(),
  },
})

/** A key that signs id tokens by ES256. */
export class SigningKey extends SigningKeySchema.class {}
SigningKeySchema.setClass(SigningKey)

const RsaSigningKeySchema = defineEntity({
  name: 'RsaSigningKey',
  tableName: 'oauth_rsa_signing_keys',
  properties: {
    period: p.integer().primary().autoincrement(false),
    sealed: p.string().length(4000),
    publicJwk: p.json<Record<string, unknown>>(),
  },
})

/** A key that signs id tokens by RS256. */
export class RsaSigningKey extends RsaSigningKeySchema.class {}
RsaSigningKeySchema.setClass(RsaSigningKey)
