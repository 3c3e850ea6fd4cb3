import { defineEntity, p } from '@mikro-orm/core'
import type { AddressFound, ProofFound } from './dns.ts'

/** A domain that an owner requested for a game, verified or not. Several games may request one, and only one has it. */
const GameDomainSchema = defineEntity({
  name: 'GameDomain',
  tableName: 'game_domains',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    /** Lower case, in ASCII, without a trailing dot. */
    name: p.string().length(253),
    /** The name again while the game is served there. The unique key decides between concurrent verifications. */
    provedName: p.string().length(253).nullable().unique(),
    /** The required value of the TXT record. */
    token: p.string().length(40),
    /** Whether it is a registered domain rather than a subdomain, so that it allows no CNAME. */
    isApex: p.boolean(),
    isPrimary: p.boolean(),
    /** The result of the last DNS check; null before the first. */
    proof: p.string().length(12).$type<ProofFound | 'taken'>().nullable(),
    address: p.string().length(12).$type<AddressFound>().nullable(),
    checkedAt: p.datetime(3).nullable(),
    nextCheckAt: p.datetime(3).index(),
    /** The start of the wait for its proof: the time when it was added, or lost the proof. */
    pendingSince: p.datetime(3),
    verifiedAt: p.datetime(3).nullable(),
    /** The time when the proof was found missing. The game is served there for some more days. */
    failingSince: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
  uniques: [{ properties: ['gameId', 'name'] }],
})

export class GameDomain extends GameDomainSchema.class {}
GameDomainSchema.setClass(GameDomain)
