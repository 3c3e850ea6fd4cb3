import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { SESSION_MS } from '../../../core/http/event-streams.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPart } from '../../../core/pages/index.ts'
import { cellOf, cellPart, statPart } from './mine.ts'
import { NUMBERS, numbersOf } from './overview.ts'
import { MINE_PER_PAGE } from './owner.ts'

const own = { config: { auth: 'session' }, constraints: { origin: 'portal' } } as const

/** The interval of updates. The counts of all nodes change every few seconds (analytics/playing.ts). */
const EVERY_MS = 2000

/** Event streams that update the owner's pages with the players in rooms, without a reload. */
export const livePages: Routes = async (app) => {
  const { dashboard } = app.games

  app.get(
    '/live/games',
    {
      ...own,
      schema: { hide: true, querystring: Type.Object({ cursor: Type.Optional(Type.String({ maxLength: 200 })) }) },
    },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const { cursor } = request.query
      const { games } = await app.games.list(playerId, { limit: MINE_PER_PAGE, ...(cursor ? { cursor } : {}) })
      const look = async () => {
        const [columns, stats] = await Promise.all([
          dashboard.loadColumns(games, { live: true }),
          dashboard.loadFigures(playerId, { live: true }),
        ])
        const cells = columns.flatMap((column) =>
          games.map(({ id }) => [cellPart(column, id), renderPart(cellOf(column, id))]),
        )
        const sums = stats.map((stat) => [statPart(stat), number.format(stat.value)])
        return { event: 'parts', data: Object.fromEntries([...cells, ...sums]) }
      }
      return app.eventStreams.send(reply, {
        key: `games of ${playerId}`,
        shows: games.map(({ id }) => id).join(),
        look,
        everyMs: EVERY_MS,
        longestMs: SESSION_MS,
      })
    },
  )

  app.get(
    '/live/games/:slug',
    { ...own, schema: { hide: true, params: Type.Object({ slug: Type.String({ maxLength: 63 }) }) } },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const game = await app.games.mustMake(playerId, request.params.slug)
      const look = async () => {
        const columns = await dashboard.loadColumns([game])
        return { event: 'parts', data: { [NUMBERS]: renderPart(numbersOf(game, columns)) } }
      }
      return app.eventStreams.send(reply, {
        key: `numbers of ${game.id}`,
        shows: `numbers for ${playerId}`,
        look,
        everyMs: EVERY_MS,
        longestMs: SESSION_MS,
      })
    },
  )
}

const number = new Intl.NumberFormat('en')
