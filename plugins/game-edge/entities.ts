import { defineEntity, p } from '@mikro-orm/core'

/** The game that an address served last, and whether another one preceded it, whose data browsers may still hold. */
const SiteOwnerSchema = defineEntity({
  name: 'SiteOwner',
  tableName: 'site_owners',
  properties: {
    /** A slug, or a custom domain, which unlike a slug contains a dot. */
    address: p.string().length(253).fieldName('slug').primary(),
    gameId: p.string().length(30),
    inherited: p.boolean(),
  },
})

export class SiteOwner extends SiteOwnerSchema.class {}
SiteOwnerSchema.setClass(SiteOwner)

const FrameTicketSchema = defineEntity({
  name: 'FrameTicket',
  tableName: 'frame_tickets',
  properties: {
    /** SHA-256 of the ticket. */
    ticketHash: p.string().length(43).primary(),
    /** The purpose: a session cookie, or a frame token. */
    purpose: p.string().length(10).$type<'cookie' | 'token'>(),
    playerId: p.string().length(30),
    /** The portal session in which it was issued; null if the player signed in to the game in a separate window. */
    sessionId: p.string().length(30).nullable(),
    consentId: p.string().length(30),
    gameId: p.string().length(30),
    /** The host, with its port, at which it is valid. */
    host: p.string().length(260),
    expiresAt: p.datetime(3).index(),
  },
})

export class FrameTicket extends FrameTicketSchema.class {}
FrameTicketSchema.setClass(FrameTicket)
