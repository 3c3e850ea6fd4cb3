import type { FastifyInstance } from 'fastify'
import { gamePages, listPages } from './catalog/sitemaps.ts'
import { pathOf } from './record.ts'

/** Adds the tabs of a game's dashboard, and what the pages of the whole site show of games. */
export function contributeNavigation(app: FastifyInstance): void {
  app.games.dashboard.tabs.push(
    { label: 'Overview', order: 10, href: (game) => `${pathOf(game)}/overview` },
    { label: 'Sign-in', order: 30, href: (game) => `${pathOf(game)}/sign-in` },
    { label: 'Analytics', order: 70, href: (game) => `${pathOf(game)}/analytics` },
    { label: 'Activity', order: 75, href: (game) => `${pathOf(game)}/activity` },
    { label: 'Team', order: 77, href: (game) => `${pathOf(game)}/team` },
    { label: 'Settings', order: 80, href: (game) => `${pathOf(game)}/settings` },
    { label: 'Integrate', order: 90, href: (game) => `${pathOf(game)}/integrate` },
  )
  app.identity.playerLinks.push(
    { label: 'Games', order: 10, href: (id) => `/admin/games?q=${id}` },
    { label: 'Public page', order: 20, href: (id) => `/players/${id}` },
  )
  app.site.navigation.push(
    { label: 'Play', href: '/catalog', place: 'main', order: 10, key: 'p' },
    { label: 'My games', href: '/games', place: 'make', order: 10, key: 'm' },
    { label: 'Games', href: '/admin/games', place: 'host', order: 20, role: 'moderator' },
    { label: 'Approvals', href: '/admin/approvals', place: 'host', order: 22, role: 'moderator' },
    { label: 'My page', href: '/players/me', place: 'account', order: 5 },
  )
  app.site.links.push({ rel: 'alternate', type: 'application/atom+xml', title: 'New games', href: '/feed.xml' })
  app.site.card = `${app.origins.portal}/card.png?v=${app.games.cards.ofSite().key}`
  app.sitemaps.push(listPages, gamePages(app.db))
}
