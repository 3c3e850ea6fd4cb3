import { defineEntity, p } from '@mikro-orm/core'

/** Which game an address served last, and whether another one did before: browsers may still hold what that one left. */
const SiteOwnerSchema = defineEntity({
  name: 'SiteOwner',
  tableName: 'site_owners',
  properties: {
    /** A slug, or a domain of a game's own, which unlike a slug has a dot. */
    address: p.string().length(253).fieldName('slug').primary(),
    gameId: p.string().length(30),
    inherited: p.boolean(),
  },
})

export class SiteOwner extends SiteOwnerSchema.class {}
SiteOwnerSchema.setClass(SiteOwner)
