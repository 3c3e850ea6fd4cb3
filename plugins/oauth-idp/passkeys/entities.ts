import { defineEntity, p } from '@mikro-orm/core'

const PasskeySchema = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  properties: {
    /** The credential id that the authenticator chose, base64url. */
    id: p.string().length(1400).primary(),
    playerId: p.string().length(30).index(),
    /** COSE key, base64url. */
    publicKey: p.string().length(2000),
    /** Grows with each use if the authenticator counts. A smaller value indicates a copied authenticator. */
    counter: p.integer(),
    transports: p.json<string[]>(),
    /** The host to which the passkey is permanently bound; null for rows of the previous version. */
    rpId: p.string().length(253).nullable(),
    /** The player's name for it. */
    label: p.string().length(240),
    createdAt: p.datetime(3),
    lastUsedAt: p.datetime(3).nullable(),
  },
})

/** A key that a player's device or password manager stores, and that signs them in. */
export class Passkey extends PasskeySchema.class {}
PasskeySchema.setClass(Passkey)
