import type { FastifyPluginAsync } from 'fastify'
import { activityPages } from './activity/page.ts'
import { activityRoutes } from './activity/routes.ts'
import { cardRoutes } from './cards/routes.ts'
import { feed } from './catalog/feed.ts'
import { oembedRoutes } from './embed/oembed.ts'
import { mediaRoutes } from './media/routes.ts'
import { invitationPages } from './members/invitation-pages.ts'
import { memberPages } from './members/page.ts'
import { memberRoutes } from './members/routes.ts'
import { transferRoutes } from './members/transfer-routes.ts'
import { approvalPages } from './pages/approvals.ts'
import { handOverPages } from './pages/hand-over.ts'
import { hostPages } from './pages/host.ts'
import { livePages } from './pages/live.ts'
import { overviewPages } from './pages/overview.ts'
import { ownerPages } from './pages/owner.ts'
import { playerPages } from './pages/player.ts'
import { publicPages } from './pages/public.ts'
import { staffDeletionPages } from './pages/staff-deletion.ts'
import { routes } from './routes.ts'

/** The routes of the API and the pages. */
export const routeList: FastifyPluginAsync[] = [
  routes,
  activityRoutes,
  mediaRoutes,
  memberRoutes,
  transferRoutes,
  cardRoutes,
  feed,
  oembedRoutes,
  publicPages,
  ownerPages,
  overviewPages,
  activityPages,
  livePages,
  memberPages,
  invitationPages,
  playerPages,
  hostPages,
  handOverPages,
  staffDeletionPages,
  approvalPages,
]
