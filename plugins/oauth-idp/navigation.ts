import type { FastifyInstance } from 'fastify'

/** Adds sign-in, sign-up, settings and players to the navigation of the portal. */
export function contributeNavigation(app: FastifyInstance): void {
  const { identity } = app
  app.site.navigation.push(
    { label: 'Sign in', href: '/sign-in', place: 'guest', order: 10, returns: true },
    ...(identity.players.signUpIsOpen
      ? [{ label: 'Sign up', href: '/sign-up', place: 'guest', order: 20, returns: true } as const]
      : []),
    { label: 'Profile and settings', href: '/settings', place: 'account', order: 10, key: 's' },
    { label: 'Players', href: '/admin/players', place: 'host', order: 10, role: 'moderator' },
    { label: 'Sign out', href: '/sign-out', place: 'account', order: 90, method: 'post' },
  )
}
