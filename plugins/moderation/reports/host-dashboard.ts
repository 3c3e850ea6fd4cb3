import type { FastifyInstance } from 'fastify'

/** Shows the administrator how much has open reports, and that urgent ones wait. */
export function contributeToHostDashboard({ hostDashboard, moderation }: FastifyInstance): void {
  hostDashboard.stats.push({ label: 'with open reports', order: 24, value: () => moderation.queue.count() })
  hostDashboard.problems.push(async () => {
    const urgent = await moderation.queue.countUrgent()
    if (urgent === 0) return null
    const title = urgent === 1 ? 'An urgent report is open' : `${urgent} things have urgent reports`
    return { title, text: null, href: '/admin/reports', label: 'Reports' }
  })
}
