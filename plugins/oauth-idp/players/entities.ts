import { defineEntity, p } from '@mikro-orm/core'

const PlayerSchema = defineEntity({
  name: 'PlayerRow',
  tableName: 'players',
  properties: {
    id: p.string().length(30).primary(),
    /** Normalised (players/profile.ts): one spelling an account. Guests have none. */
    email: p.string().length(254).nullable().unique(),
    /** A link sent to the address was followed, or an upstream provider vouched for it. */
    emailVerified: p.boolean(),
    name: p.string().length(60),
    /** SHA-256 of the uploaded picture, hex; null shows the drawn one (players/avatars.ts). */
    avatar: p.string().length(64).nullable(),
    /** PHC string of Argon2id (players/passwords.ts); null for guests and who only signs in otherwise. */
    passwordHash: p.string().length(200).nullable(),
    /** A name and nothing else: lives as long as the browser session. */
    guest: p.boolean(),
    isAdmin: p.boolean(),
    /** Means nothing beside `isAdmin`. */
    moderator: p.boolean().default(false),
    disabled: p.boolean(),
    /** Grows when the player is signed out everywhere; what was signed before that is void. */
    epoch: p.integer(),
    createdAt: p.datetime(3),
  },
})

export class PlayerRow extends PlayerSchema.class {}
PlayerSchema.setClass(PlayerRow)

const SetupLinkSchema = defineEntity({
  name: 'SetupLink',
  tableName: 'setup_links',
  properties: {
    /** `first-admin`: there is one such link at a time. */
    id: p.string().length(20).primary(),
    /** The token is derived from this and from a key outside of the database. */
    nonce: p.string().length(43),
  },
})

/** The link by which the first administrator's account is made; gone once used. */
export class SetupLink extends SetupLinkSchema.class {}
SetupLinkSchema.setClass(SetupLink)

const OneTimeTokenSchema = defineEntity({
  name: 'OneTimeToken',
  tableName: 'one_time_tokens',
  properties: {
    id: p.string().length(30).primary(),
    /** SHA-256 of the token (players/one-time-tokens.ts). */
    tokenHash: p.string().length(43).unique(),
    /** The only purpose of the token. */
    purpose: p.string().length(20),
    playerId: p.string().length(30).nullable().index(),
    email: p.string().length(254).nullable(),
    /** The data for its use. */
    data: p.json<Record<string, unknown>>().nullable(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).index(),
  },
})

/** Something that works once: a link in a message, an invitation, the challenge of a passkey. */
export class OneTimeToken extends OneTimeTokenSchema.class {}
OneTimeTokenSchema.setClass(OneTimeToken)
