import type { FastifyInstance } from 'fastify'

/** How often what was counted is written down. */
const FLUSH_MS = 5000
/** The disk of every node has cards of its own. */
const TIDY_MS = 3_600_000
/** A node that is late still writes yesterday's visitors down. */
const LATE_MS = 10 * 60_000

/** What the games do by themselves. */
export function registerChores(app: FastifyInstance): void {
  const { cards, count, media, removals } = app.games
  const flush = setInterval(() => void count.flush(), FLUSH_MS).unref()
  app.addHook('onClose', async () => {
    clearInterval(flush)
    await count.flush()
  })

  app.jobs.every('games/forget-visitors', 3600, async () => {
    const today = new Date(app.clock.now().getTime() - LATE_MS).toISOString().slice(0, 10)
    await app.db.execute('delete from game_visitors where date < ?', [today])
    await app.db.execute('delete from game_presence where seen_at < ?', [new Date(Date.parse(today))])
  })
  app.jobs.every('games/purge', 3600, ({ signal }) => removals.purge(signal))
  app.jobs.every('games/sweep-media', 24 * 3600, ({ signal }) => media.sweep(signal))
  const tidy = setInterval(() => void cards.tidy(), TIDY_MS).unref()
  app.addHook('onClose', () => {
    clearInterval(tidy)
    return cards.close()
  })
}
