import { defineEntity, p } from '@mikro-orm/core'

const ApiTokenSchema = defineEntity({
  name: 'ApiToken',
  tableName: 'api_tokens',
  properties: {
    id: p.string().length(30).primary(),
    /** SHA-256 of the whole token. */
    tokenHash: p.string().length(43).unique(),
    playerId: p.string().length(30).index(),
    kind: p.string().length(3),
    label: p.string().length(80),
    /** The first characters, by which its owner recognises it. */
    prefix: p.string().length(12),
    /** Space-separated. It is empty for a CLI token, which has full access. */
    scopes: p.string().length(500),
    createdAt: p.datetime(3),
    /** Recorded to the minute. */
    lastUsedAt: p.datetime(3).nullable(),
    /** Null for a token without expiry. */
    expiresAt: p.datetime(3).nullable().index(),
  },
})

export class ApiToken extends ApiTokenSchema.class {}
ApiTokenSchema.setClass(ApiToken)
