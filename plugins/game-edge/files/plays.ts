import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { isPrefetch } from '../../../core/http/headers.ts'
import type { Game } from '../../games/index.ts'

/** Whether a request for a document is a person who opens the game, rather than a script, a prefetch or a program. */
export function opensGame({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' || !headers.accept?.includes('text/html')) return false
  // Browsers send the destination only on HTTPS and localhost.
  const to = headers['sec-fetch-dest']
  if (to !== undefined && to !== 'document' && to !== 'iframe' && to !== 'frame') return false
  return !isPrefetch(headers)
}

/**
 * Counts a play after the response: a signed-in player by account, another visitor by address and browser, which the
 * counter hashes and does not store (plugins/games/analytics).
 *
 * @param address of the client
 */
export function countPlay(
  app: Pick<FastifyInstance, 'games' | 'edge' | 'log' | 'origins'>,
  game: Game,
  request: IncomingMessage,
  address: string,
): void {
  const count = async () => {
    const site = app.origins.of(request)
    const session = site.kind === 'game' ? await app.edge.sessions.read(request, site.host, game) : null
    app.games.count.play(game.id, session?.player.id ?? `${address} ${request.headers['user-agent'] ?? ''}`)
  }
  count().catch((error) => app.log.error({ err: error }, 'counting a play failed'))
}
