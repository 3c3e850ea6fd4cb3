import type { Origins } from '../../core/origins/origins.ts'
import type { Game } from '../games/index.ts'
import { proofName, proofValue } from './dns.ts'
import type { GameDomain } from './entities.ts'
import type { Domain } from './schemas.ts'

/** Converts a domain for the API. */
export function toDomain(row: GameDomain, game: Pick<Game, 'slug'>, origins: Origins, graceMs: number): Domain {
  const target = gameNameOf(game, origins)
  return {
    name: row.name,
    url: origins.domainOrigin(row.name),
    state: row.provedName == null ? 'pending' : row.failingSince == null ? 'verified' : 'failing',
    primary: row.isPrimary,
    records: [
      { type: 'TXT', name: proofName(row.name), value: proofValue(row.token) },
      { type: row.isApex ? 'ALIAS' : 'CNAME', name: row.name, value: target },
    ],
    proof: row.proof ?? null,
    address: row.address ?? null,
    checkedAt: row.checkedAt?.toISOString() ?? null,
    verifiedAt: row.verifiedAt?.toISOString() ?? null,
    offAt: row.failingSince ? new Date(row.failingSince.getTime() + graceMs).toISOString() : null,
    createdAt: row.createdAt.toISOString(),
  }
}

/** Returns the name that every game has, which a CNAME can point to. */
export const gameNameOf = ({ slug }: Pick<Game, 'slug'>, origins: Origins): string =>
  new URL(origins.slugOrigin(slug)).hostname
