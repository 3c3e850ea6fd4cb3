import { defineEntity, p } from '@mikro-orm/core'

const OAuthAppSchema = defineEntity({
  name: 'OAuthAppRow',
  tableName: 'oauth_apps',
  properties: {
    id: p.string().length(30).primary(),
    clientId: p.string().length(60).unique(),
    ownerId: p.string().length(30).index(),
    /** The game that it signs players in to; an application may stand alone. */
    gameId: p.string().length(30).nullable().index(),
    name: p.string().length(120),
    homepageUrl: p.string().length(2000).nullable(),
    /** Of a game that lives here: what its owner registered elsewhere, beside `servedUris`. */
    redirectUris: p.json<string[]>(),
    /**
     * The `redirectUris` that were the platform's own when they were written. They follow from the configuration and
     * are not read. The previous version requires the column; a later one can drop it. Null: not yet separated.
     */
    servedUris: p.json<string[]>().nullable(),
    /** Belongs to a game that lives here, whose server is this one. */
    hosted: p.boolean(),
    /** Can't keep a secret (RFC 6749 section 2.1): native and browser applications. */
    publicClient: p.boolean(),
    secretHash: p.string().length(43).nullable(),
    /** The secret before the last rotation, until its grace ends. */
    oldSecretHash: p.string().length(43).nullable(),
    oldSecretUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    lastUsedAt: p.datetime(3).nullable(),
  },
})

export class OAuthAppRow extends OAuthAppSchema.class {}
OAuthAppSchema.setClass(OAuthAppRow)

const SignInCountSchema = defineEntity({
  name: 'SignInCount',
  tableName: 'oauth_sign_ins',
  properties: {
    clientId: p.string().length(60).primary(),
    /** UTC, `2026-11-21`. */
    date: p.string().length(10).primary(),
    playerId: p.string().length(30).primary().index(),
    count: p.integer(),
  },
})

/** How often a player signed in to an application on a day. */
export class SignInCount extends SignInCountSchema.class {}
SignInCountSchema.setClass(SignInCount)
