import { defineEntity, p } from '@mikro-orm/core'

const UpstreamAccountSchema = defineEntity({
  name: 'UpstreamAccount',
  tableName: 'upstream_accounts',
  properties: {
    /** The provider's name in the configuration, `auth.providers`. */
    provider: p.string().length(40).primary(),
    /** The provider's account id, which is stable and never reused. */
    subject: p.string().length(255).primary(),
    playerId: p.string().length(30).index(),
    /** The provider's name for the account, for the list in the settings. */
    label: p.string().length(254),
    createdAt: p.datetime(3),
    lastUsedAt: p.datetime(3),
  },
})

/** An external account by which a player signs in. */
export class UpstreamAccount extends UpstreamAccountSchema.class {}
UpstreamAccountSchema.setClass(UpstreamAccount)
