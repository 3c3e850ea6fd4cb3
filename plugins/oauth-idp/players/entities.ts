import { defineEntity, p } from '@mikro-orm/core'

const PlayerSchema = defineEntity({
  name: 'PlayerRow',
  tableName: 'players',
  properties: {
    id: p.string().length(30).primary(),
    /** Normalised (players/profile.ts): one spelling an account. */
    email: p.string().length(254).unique(),
    name: p.string().length(60),
    imageUrl: p.string().length(2000).nullable(),
    /** PHC string of Argon2id (players/passwords.ts). */
    passwordHash: p.string().length(200),
    isAdmin: p.boolean(),
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
    /** What the token is derived from, together with a key that the database does not hold. */
    nonce: p.string().length(43),
  },
})

/** The link by which the first administrator's account is made; gone once used. */
export class SetupLink extends SetupLinkSchema.class {}
SetupLinkSchema.setClass(SetupLink)
