import { defineEntity, p } from '@mikro-orm/core'
import type { AddressFound, ProofFound } from './dns.ts'

/** A domain that a game's owner wants it at, proved or not: several games may want one, and one of them has it. */
const GameDomainSchema = defineEntity({
  name: 'GameDomain',
  tableName: 'game_domains',
  properties: {
    id: p.string().length(30).primary(),
    gameId: p.string().length(30),
    /** Lower case, in ASCII, without a dot at the end. */
    name: p.string().length(253),
    /** The name again while the game is served there: what is unique decides between two that prove it at once. */
    provedName: p.string().length(253).nullable().unique(),
    /** The required value of the TXT record. */
    token: p.string().length(40),
    /** Registered as such, rather than a name below: it takes no CNAME. */
    isApex: p.boolean(),
    isPrimary: p.boolean(),
    /** The result of the last DNS check; null before the first. */
    proof: p.string().length(12).$type<ProofFound | 'taken'>().nullable(),
    address: p.string().length(12).$type<AddressFound>().nullable(),
    checkedAt: p.datetime(3).nullable(),
    nextCheckAt: p.datetime(3).index(),
    /** Since when it waits for its proof: since it was added, or lost it. */
    pendingSince: p.datetime(3),
    verifiedAt: p.datetime(3).nullable(),
    /** When the proof was found missing; the game is served there for some days more. */
    failingSince: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
  uniques: [{ properties: ['gameId', 'name'] }],
})

export class GameDomain extends GameDomainSchema.class {}
GameDomainSchema.setClass(GameDomain)
