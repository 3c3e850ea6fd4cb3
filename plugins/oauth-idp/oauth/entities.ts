import { defineEntity, p } from '@mikro-orm/core'

const AuthorizationCodeSchema = defineEntity({
  name: 'AuthorizationCode',
  tableName: 'authorization_codes',
  properties: {
    /** SHA-256 of the code. */
    codeHash: p.string().length(43).primary(),
    clientId: p.string().length(60).index(),
    playerId: p.string().length(30).index(),
    redirectUri: p.string().length(2000),
    /** Space-separated. */
    scope: p.string().length(200),
    /** S256 (RFC 7636); null when the client sent none. */
    codeChallenge: p.string().length(43).nullable(),
    expiresAt: p.datetime(3).index(),
    /** A redeemed code is kept until the tokens it gave have expired: a replay revokes them. */
    redeemedAt: p.datetime(3).nullable(),
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
    scope: p.string().length(200),
    /** The code that gave it. */
    codeHash: p.string().length(43).index(),
    expiresAt: p.datetime(3).index(),
  },
})

export class AccessToken extends AccessTokenSchema.class {}
AccessTokenSchema.setClass(AccessToken)

const ConsentSchema = defineEntity({
  name: 'Consent',
  tableName: 'oauth_consents',
  properties: {
    playerId: p.string().length(30).primary(),
    clientId: p.string().length(60).primary().index(),
    /** Every scope that the player has allowed this client, space-separated. */
    scope: p.string().length(200),
    updatedAt: p.datetime(3),
  },
})

/** What a player has allowed an application, so that the question is asked once. */
export class Consent extends ConsentSchema.class {}
ConsentSchema.setClass(Consent)
