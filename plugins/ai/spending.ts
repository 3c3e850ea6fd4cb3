import type { FastifyInstance } from 'fastify'

const DAYS = 30
const number = new Intl.NumberFormat('en')

/** Adds AI costs to the owner's pages: the credits of each game, and of all games, in 30 days. */
export function contributeSpending({ games, db, clock }: Pick<FastifyInstance, 'games' | 'db' | 'clock'>): void {
  const since = () => new Date(clock.now().getTime() - DAYS * 86_400_000).toISOString().slice(0, 10)
  games.dashboard.columns.push({
    label: 'AI credits',
    order: 50,
    async load(shown) {
      const rows = await db.query<{ game_id: string; credits: number }>(
        `select game_id, sum(credits) as credits from ai_generations
         where game_id in (${shown.map(() => '?').join(', ')}) and date > ? group by game_id`,
        [...shown.map(({ id }) => id), since()],
      )
      return new Map(rows.map(({ game_id, credits }) => [game_id, number.format(Number(credits))]))
    },
  })
  games.dashboard.stats.push({
    label: 'AI credits in 30 days',
    order: 40,
    async value(ownerId) {
      const [row] = await db.query<{ credits: number | null }>(
        `select sum(a.credits) as credits from ai_generations a join games g on g.id = a.game_id
         where g.owner_id = ? and g.deleted_at is null and a.date > ?`,
        [ownerId, since()],
      )
      return Number(row?.credits ?? 0)
    },
  })
}
