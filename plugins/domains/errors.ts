import { defineError } from '../../core/errors.ts'

export const DomainTaken = defineError('domain_taken', 409, 'The domain %s already belongs to another game.')
export const DomainThere = defineError('domain_exists', 409, 'The domain %s is already on the list of this game.')
export const DomainReserved = defineError('domain_reserved', 409, '%s')
export const DomainNotVerified = defineError(
  'domain_not_verified',
  409,
  'The domain %s is not verified yet; add its DNS records first.',
)
export const TooManyDomains = defineError('too_many_domains', 409, 'A game has at most %s domains; remove one.')
export const GameElsewhere = defineError(
  'game_elsewhere',
  409,
  'This game is on another server, which manages its domain.',
)
export const DomainsNotConfigured = defineError(
  'domains_not_configured',
  503,
  'Games have ports instead of names on this server, so they can have no domains.',
)
