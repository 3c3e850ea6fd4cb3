import type { FastifyRequest } from 'fastify'
import { Conflict, Forbidden } from '../../../core/errors.ts'
import { callerOf, type Role } from '../../../core/http/auth.ts'
import type { ManagedPlayer } from './administration.ts'

/** Staff do not act on their own account. @throws Conflict */
export function mustBeAnother(request: FastifyRequest, id: string): void {
  if (id === callerOf(request).playerId)
    throw new Conflict('This is your own account; ask another administrator, or use your settings.')
}

/** Returns the role of the caller. */
export const roleOf = (request: FastifyRequest): Role => callerOf(request).viewer?.role ?? 'player'

/** Moderators act on players. Only an administrator acts on moderators and administrators. @throws Forbidden */
export function mustBeBelow(request: FastifyRequest, player: ManagedPlayer): void {
  if (roleOf(request) !== 'admin' && player.role !== 'player')
    throw new Forbidden('Only an administrator acts on a moderator or an administrator.')
}
