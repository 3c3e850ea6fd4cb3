import type { FastifyInstance } from 'fastify'

/** Tells the host of payment events that changed no credits. */
export function contributePaymentProblems({ hostDashboard, purchases }: FastifyInstance): void {
  hostDashboard.problems.push(async () => {
    const { count, latest } = await purchases.problems()
    if (!latest) return null
    const title = count === 1 ? 'A payment event changed no credits' : `${count} payment events changed no credits`
    return {
      title,
      text: `${latest.id}: ${latest.problem}`,
      href: '/docs/selling-credits#events',
      label: 'What to do',
    }
  })
}
