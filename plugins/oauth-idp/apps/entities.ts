import { defineEntity, p } from '@mikro-orm/core'

const OAuthAppSchema = defineEntity({
  name: 'OAuthAppRow',
  tableName: 'oauth_apps',
  properties: {
    id: p.string().length(30).primary(),
    clientId: p.string().length(60).unique(),
    ownerId: p.string().length(30).index(),
    /** The game that the application signs players in to, or null for a standalone application. */
    gameId: p.string().length(30).nullable().index(),
    name: p.string().length(120),
    homepageUrl: p.string().length(2000).nullable(),
    /** The URIs that the owner registered. For a hosted game, the list may also contain `servedUris`. */
    redirectUris: p.json<string[]>(),
    /**
     * The `redirectUris` that were the platform's own when they were written. They follow from the configuration and
     * are not read. The previous version requires the column; a later one can drop it. Null: not yet separated.
     */
    servedUris: p.json<string[]>().nullable(),
    /** The client belongs to a hosted game, so its server is this platform. */
    hosted: p.boolean(),
    /** A native or browser application, which can't keep a secret (RFC 6749 section 2.1). */
    publicClient: p.boolean(),
    secretHash: p.string().length(43).nullable().index(),
    /** The secret before the last rotation, until its grace period ends. */
    oldSecretHash: p.string().length(43).nullable().index(),
    oldSecretUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    lastUsedAt: p.datetime(3).nullable(),
    /** `dynamic` or `metadata`: a client without an owner (apps/registrations.ts). */
    registration: p.string().length(20).nullable(),
    metadataUrl: p.string().length(2000).nullable(),
    /** `RS256` or `ES256`; null means ES256. */
    idTokenAlgorithm: p.string().length(5).nullable(),
  },
})

export class OAuthAppRow extends OAuthAppSchema.class {}
OAuthAppSchema.setClass(OAuthAppRow)

const SignInCountSchema = defineEntity({
  name: 'SignInCount',
  tableName: 'oauth_sign_ins',
  properties: {
    clientId: p.string().length(60).primary(),
    /** UTC date, such as `2026-11-21`. */
    date: p.string().length(10).primary(),
    playerId: p.string().length(30).primary().index(),
    count: p.integer(),
  },
})

/** The number of a player's sign-ins to an application on one day. */
export class SignInCount extends SignInCountSchema.class {}
SignInCountSchema.setClass(SignInCount)

/** An application that was changed or deleted. */
export type ChangedApp = Pick<OAuthAppRow, 'clientId' | 'gameId'>
