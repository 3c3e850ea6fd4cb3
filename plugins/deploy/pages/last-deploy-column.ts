import type { FastifyInstance } from 'fastify'
import { html, Timestamp } from '../../../core/pages/index.ts'
import type { GameColumn } from '../../games/index.ts'

/** The time at which each game's live build went live, on its owner's list. */
export const lastDeploys = ({ db }: Pick<FastifyInstance, 'db'>): GameColumn => ({
  label: 'Last deploy',
  order: 10,
  align: 'start',
  async load(games) {
    const live = games.flatMap(({ liveDeployId }) => liveDeployId ?? [])
    if (live.length === 0) return new Map()
    const rows = await db.query<{ game_id: string; live_at: number }>(
      `select game_id, live_at from deploys where id in (${live.map(() => '?').join(', ')})`,
      live,
    )
    return new Map(rows.map(({ game_id, live_at }) => [game_id, html`<${Timestamp} at=${live_at} day />`]))
  },
})
