import { defineEntity, p } from '@mikro-orm/core'

const UpstreamAccountSchema = defineEntity({
  name: 'UpstreamAccount',
  tableName: 'upstream_accounts',
  properties: {
    /** Its name in the configuration, `auth.providers`. */
    provider: p.string().length(40).primary(),
    /** The provider's id of the account: stable, and never used again for somebody else. */
    subject: p.string().length(255).primary(),
    playerId: p.string().length(30).index(),
    /** As the provider calls them, for the list in the settings. */
    label: p.string().length(254),
    createdAt: p.datetime(3),
    lastUsedAt: p.datetime(3),
  },
})

/** An account elsewhere by which a player signs in. */
export class UpstreamAccount extends UpstreamAccountSchema.class {}
UpstreamAccountSchema.setClass(UpstreamAccount)
