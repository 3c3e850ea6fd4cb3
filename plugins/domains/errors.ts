import { defineError } from '../../core/errors.ts'

export const DomainTaken = defineError('domain_taken', 409, 'The domain %s belongs to another game already.')
export const DomainThere = defineError('domain_exists', 409, 'The domain %s is on the list of this game already.')
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
  'This game lives elsewhere; its domain is the affair of the server that it lives on.',
)
export const DomainsNotConfigured = defineError(
  'domains_not_configured',
  503,
  'Here games have a port each instead of names, so none can have a domain of its own.',
)
