import type { FastifyInstance } from 'fastify'
import type { HostedOrigins } from '../../oauth-idp/index.ts'
import type { GameLookup } from '../game-lookup.ts'

type Parts = Pick<FastifyInstance, 'db' | 'origins'>

/**
 * Whether this platform serves an address from the game whose application a client is: at the game's own name or port,
 * at a verified domain, or as a preview.
 *
 * @param address a complete one, such as a redirect URI
 */
export async function isOwnAddress(
  { origins }: Parts,
  games: GameLookup,
  { clientId, address }: { clientId: string; address: string },
): Promise<boolean> {
  const site = siteAt(origins, address)
  const game = site && (await games.bySlug(site.slug))
  if (game?.clientId !== clientId) return false
  return site?.preview == null || games.hasPreview(game.id, site.preview)
}

/** Returns the game at an address, by its origin only; null when it belongs to no game. */
function siteAt(origins: FastifyInstance['origins'], address: string) {
  const { host, origin } = new URL(address)
  const site = origins.parse(host)
  return site.kind === 'game' && origin === origins.atHost(host) ? site : null
}

/** Returns the slug of the game at an address, by its origin only; null for no game or a preview. */
export function slugAt(origins: FastifyInstance['origins'], address: string): string | null {
  const site = siteAt(origins, address)
  return site?.preview === null ? site.slug : null
}

/**
 * Returns the current origins of games that are served here, by the client ids of their applications. A game that lives
 * elsewhere is served here, too, once a build of it is deployed.
 */
export async function originsOf({ db, origins }: Parts, clientIds: readonly string[]) {
  const found = new Map<string, HostedOrigins>()
  // The chunk is below the parameter limit of a statement in every database.
  for (let from = 0; from < clientIds.length; from += 1000) {
    const some = clientIds.slice(from, from + 1000)
    const rows = await db.query<{ client_id: string; slug: string; external_url: string | null }>(
      `select client_id, slug, external_url from games where (external_url is null or live_deploy_id is not null)
       and deleted_at is null and client_id in (${some.map(() => '?').join(', ')})`,
      some,
    )
    for (const { client_id: clientId, slug, external_url: elsewhere } of rows) {
      const main = elsewhere === null ? origins.game(slug) : null
      found.set(clientId, { main, all: origins.allOf(slug) })
    }
  }
  return found
}

/**
 * Migrates addresses that earlier versions stored as text: a game whose external address is one of its own becomes
 * hosted here, and the platform's redirect URIs are separated from those of owners. It runs once the ports and domains
 * are known.
 */
export async function adoptAddresses(app: Parts & Pick<FastifyInstance, 'identity'>): Promise<void> {
  const { db, origins, identity } = app
  const rows = await db.query<{ id: string; slug: string; client_id: string; external_url: string }>(
    'select id, slug, client_id, external_url from games where external_url is not null',
  )
  for (const { id, slug, client_id: clientId, external_url: from } of rows) {
    if (!isHome(origins, slug, from)) continue
    await db.transaction(async (em) => {
      await em.execute('update games set external_url = null where id = ?', [id])
      await identity.apps.moveApp(em, clientId, { from, to: null, origins: origins.allOf(slug) })
    })
  }
  await identity.apps.tellServedApart()
}

/** Whether an address is the game's own address here, so that nothing needs to be stored. */
export const isHome = (origins: FastifyInstance['origins'], slug: string, address: string): boolean =>
  slugAt(origins, address) === slug && /^\/?$/.test(address.slice(new URL(address).origin.length))
