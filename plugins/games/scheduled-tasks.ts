import type { FastifyInstance } from 'fastify'
import { deleteInBatches } from '../../core/data/database.ts'

/** The interval of writes of counts. */
const FLUSH_MS = 5000
/** Each node's disk has its own cards. */
const EVICT_MS = 3_600_000
/** A late node may still write yesterday's visitors. */
const LATE_MS = 10 * 60_000

/** The scheduled tasks of games. */
export function registerScheduledTasks(app: FastifyInstance): void {
  const { activity, cards, count, media, deletion, memberInvitations, members, transfers } = app.games
  const flush = setInterval(() => void count.flush(), FLUSH_MS).unref()
  app.addHook('onClose', async () => {
    clearInterval(flush)
    await count.flush()
  })

  app.jobs.every('games/forget-visitors', 3600, async ({ signal }) => {
    const today = new Date(app.clock.now().getTime() - LATE_MS).toISOString().slice(0, 10)
    const key = ['date', 'game_id', 'visitor']
    await deleteInBatches(app.db, { table: 'game_visitors', key, where: 'date < ?', parameters: [today] }, signal)
    await app.db.execute('delete from game_presence where seen_at < ?', [new Date(Date.parse(today))])
  })
  app.jobs.every('games/forget-activity', 24 * 3600, ({ signal }) => activity.sweep(signal))
  app.jobs.every('games/forget-invitations', 24 * 3600, () => memberInvitations.purge())
  app.jobs.every('games/forget-members', 24 * 3600, () => members.purge())
  app.jobs.every('games/forget-transfers', 24 * 3600, () => transfers.purge())
  app.jobs.every('games/purge', 3600, ({ signal }) => deletion.purge(signal))
  app.jobs.every('games/sweep-media', 24 * 3600, ({ signal }) => media.sweep(signal))
  const eviction = setInterval(() => void cards.evict(), EVICT_MS).unref()
  app.addHook('onClose', async () => {
    clearInterval(eviction)
    await Promise.all([cards.close(), media.close()])
  })
}
