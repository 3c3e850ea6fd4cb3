import { defineEntity, p } from '@mikro-orm/core'

/** The condition for players who are found by their name, in the exact words of the index. */
export const FINDABLE = 'not guest and not disabled'

const PlayerSchema = defineEntity({
  name: 'PlayerRow',
  tableName: 'players',
  properties: {
    id: p.string().length(30).primary(),
    /** The normalised address (players/profile.ts), with one spelling for each account. Guests have none. */
    email: p.string().length(254).nullable().unique(),
    /** Whether a link sent to the address was followed, or an upstream provider vouched for it. */
    emailVerified: p.boolean(),
    name: p.string().length(240),
    /** SHA-256 of the uploaded picture, hex. Null shows the generated one (players/avatars.ts). */
    avatar: p.string().length(64).nullable(),
    /**
     * PHC string of Argon2id (players/passwords.ts); null for guests and players who use only other sign-in methods.
     */
    passwordHash: p.string().length(200).nullable(),
    /** A guest has only a name, and exists as long as the browser session. */
    guest: p.boolean(),
    isAdmin: p.boolean(),
    /** Ignored if `isAdmin` is set. */
    moderator: p.boolean().default(false),
    /** Whether staff trust the player to publish games (`games.publish`). */
    trusted: p.boolean().default(false),
    disabled: p.boolean(),
    /** `staff`, or the id of the decision about reports that disabled the account; an undo applies to its own only. */
    disabledCause: p.string().length(30).nullable(),
    /** Grows when the player is signed out everywhere. Everything that was signed under a smaller value is invalid. */
    epoch: p.integer(),
    createdAt: p.datetime(3),
  },
  indexes: [
    // Each change of an account counts the administrators, who are few.
    { properties: ['isAdmin', 'disabled', 'id'] },
    {
      name: 'players_name_index',
      // PostgreSQL has it with the collation "C", which SQLite does not know (migrations/2026_11_28_names.ts).
      expression: `create index players_name_index on players (lower(name), id) where ${FINDABLE}`,
    },
  ],
})

export class PlayerRow extends PlayerSchema.class {}
PlayerSchema.setClass(PlayerRow)

const SetupLinkSchema = defineEntity({
  name: 'SetupLink',
  tableName: 'setup_links',
  properties: {
    /** `first-admin`: only one such link exists. */
    id: p.string().length(20).primary(),
    /** The token is derived from this nonce and from a key outside of the database. */
    nonce: p.string().length(43),
  },
})

/** The link that creates the first administrator's account. It is deleted after its use. */
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
    email: p.string().length(254).nullable().index(),
    /** The data for its use. */
    data: p.json<Record<string, unknown>>().nullable(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).index(),
  },
})

/** A single-use token: a link in a message, an invitation, a challenge that was used. */
export class OneTimeToken extends OneTimeTokenSchema.class {}
OneTimeTokenSchema.setClass(OneTimeToken)

const UnreadMessageSchema = defineEntity({
  name: 'UnreadMessage',
  tableName: 'player_news',
  properties: {
    id: p.string().length(30).primary(),
    playerId: p.string().length(30).index(),
    at: p.datetime(3).index(),
  },
})

/** A message or an invitation that a player has not seen yet. Each is a row of its own, so that no write waits for another. */
export class UnreadMessage extends UnreadMessageSchema.class {}
UnreadMessageSchema.setClass(UnreadMessage)
