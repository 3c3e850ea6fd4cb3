import type { FastifyInstance } from 'fastify'
import type { Games } from './games.ts'

/**
 * Whether an address is served by this platform, and from the game whose application a client is: at the game's own
 * name or port, or at a domain that its owner has proved. A preview is none of them: it has no sign-in.
 *
 * @param address a whole one, such as a redirect URI
 */
export async function isOwnAddress(
  origins: FastifyInstance['origins'],
  games: Games,
  { clientId, address }: { clientId: string; address: string },
): Promise<boolean> {
  const { host, origin } = new URL(address)
  const site = origins.parse(host)
  if (site.kind !== 'game' || site.preview !== null || origin !== origins.atHost(host)) return false
  const game = await games.bySlug(site.slug)
  return game?.clientId === clientId
}
