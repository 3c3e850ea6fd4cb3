import type { FastifyInstance } from 'fastify'
import type { Principal } from '../../core/http/auth.ts'

/** The interval of writes. Calls of tools do not wait for them. */
const FLUSH_MS = 5000

interface Use {
  playerId: string
  clientId: string
  at: Date
  tool: string
  /** Id or slug. */
  game: string | null
}

/** The last call of each connected assistant, for the list of connections. At most one write per assistant and flush. */
export class LastCalls {
  readonly #app: Pick<FastifyInstance, 'clock' | 'games' | 'identity' | 'log'>
  readonly #latest = new Map<string, Use>()

  constructor(app: FastifyInstance) {
    this.#app = app
    const timer = setInterval(() => void this.flush(), FLUSH_MS).unref()
    app.addHook('onClose', async () => {
      clearInterval(timer)
      await this.flush()
    })
  }

  /** Notes a call. API tokens have their own list, with the last use of each. */
  note({ playerId, clientId }: Principal, tool: string, game: string | null): void {
    if (clientId === undefined) return
    this.#latest.set(`${playerId} ${clientId}`, { playerId, clientId, at: this.#app.clock.now(), tool, game })
  }

  /** Stores what was noted. */
  async flush(): Promise<void> {
    const calls = [...this.#latest.values()]
    this.#latest.clear()
    for (const { playerId, clientId, at, tool, game } of calls) {
      try {
        const slug = game && (await this.#app.games.mustSee(playerId, game).catch(() => null))?.slug
        await this.#app.identity.consents.noteUse(playerId, clientId, { at, what: slug ? `${tool}, ${slug}` : tool })
      } catch (error) {
        this.#app.log.warn({ err: error }, 'storing the last use of an assistant failed')
      }
    }
  }
}
