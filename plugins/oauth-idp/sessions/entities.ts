import { defineEntity, p } from '@mikro-orm/core'

const SessionSchema = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.string().length(30).primary(),
    /** SHA-256 of the cookie's value. */
    tokenHash: p.string().length(43).unique(),
    playerId: p.string().length(30).index(),
    /** The browser's `User-Agent`, for the list in the settings. */
    userAgent: p.string().length(300),
    createdAt: p.datetime(3),
    /** Recorded to the hour. */
    lastSeenAt: p.datetime(3),
    expiresAt: p.datetime(3).index(),
  },
})

/** A browser that is signed in. */
export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session)
