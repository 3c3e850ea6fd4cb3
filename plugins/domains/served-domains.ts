import type { FastifyInstance } from 'fastify'

/** The maximum age of the map on a node that missed an event. */
const REFRESH_MS = 5000

/** Domains of existing games. The query includes the slugs, which may change. */
const SERVED = `from game_domains d join games g on g.id = d.game_id
  where d.proved_name is not null and g.deleted_at is null`

/**
 * This node's map from domains to games, held completely in memory, since every request looks up its Host there. It is
 * loaded at the start, at every event, and when a poll of the tables every few seconds shows a difference.
 */
export class ServedDomains {
  readonly #app: Pick<FastifyInstance, 'db' | 'origins' | 'log'>
  #known = ''
  #reading: Promise<void> | null = null
  #again = false

  constructor(app: Pick<FastifyInstance, 'db' | 'origins' | 'log' | 'events'>) {
    this.#app = app
    app.events.on('domain.changed', () => this.read())
    app.events.on('game.changed', () => this.refresh())
  }

  /** Polls every few seconds. @returns a function that stops it */
  watch(): () => void {
    const look = () => this.refresh().catch((err) => this.#app.log.warn({ err }, 'reading the domains of games failed'))
    const timer = setInterval(look, REFRESH_MS).unref()
    return () => clearInterval(timer)
  }

  /** Reloads the map. Changes during a reload cause another one. */
  read(): Promise<void> {
    this.#again = true
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Reloads the map if something has changed. */
  async refresh(): Promise<void> {
    if ((await this.#glance()) !== this.#known) await this.read()
  }

  async #readAll(): Promise<void> {
    while (this.#again) {
      this.#again = false
      const known = await this.#glance()
      const rows = await this.#app.db.query<{ name: string; slug: string; is_primary: number }>(
        `select d.name, g.slug, d.is_primary ${SERVED}`,
      )
      this.#app.origins.setDomains(
        rows.map(({ name, slug, is_primary }) => ({ name, slug, isPrimary: Boolean(is_primary) })),
      )
      this.#known = known
    }
  }

  async #glance(): Promise<string> {
    const [row] = await this.#app.db.query<{ count: number; domains: number | null; games: number | null }>(
      `select count(*) as count, max(d.updated_at) as domains, max(g.updated_at) as games ${SERVED}`,
    )
    return `${row?.count} ${row?.domains} ${row?.games}`
  }
}
