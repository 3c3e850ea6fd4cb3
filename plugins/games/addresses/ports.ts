import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { StartupError } from '../../../core/errors.ts'

/** Networks without wildcard names use a port for each game. On other networks these functions do nothing. */
type Parts = Pick<FastifyInstance, 'db' | 'config' | 'origins' | 'gamePorts'>

/** The maximum number of ports to skip because other programs use them. */
const ATTEMPTS = 50

/**
 * Opens the next free port for a new game, above the server's own and those of the other games.
 *
 * @returns null where games have names
 * @throws StartupError when there is none
 */
export async function openPort(em: SqlEntityManager, slug: string, parts: Parts): Promise<number | null> {
  if (!parts.origins.byPort) return null
  const rows = await em.execute<{ port: number | null }[]>(HIGHEST)
  return openNext(slug, rows[0]?.port ?? 0, parts)
}

/** Opens the port of an existing game. @throws StartupError when another program uses it now */
export async function reopenPort(slug: string, port: number, { origins, gamePorts }: Parts): Promise<void> {
  if (origins.byPort) await gamePorts.assign(slug, port)
}

/**
 * Opens the ports of the existing games. A game made while games had names, or whose port is now the server's own, gets
 * the next port.
 */
export async function reopenPorts(parts: Parts): Promise<void> {
  const { db, config, origins, gamePorts } = parts
  if (!origins.byPort) return
  const rows = await db.query<{ id: string; slug: string; port: number | null }>(
    'select id, slug, port from games where deleted_at is null order by id',
  )
  const taken = new Set([config.listen.port, config.listen.tls.redirectPort])
  const portless = rows.filter(({ port }) => port === null || taken.has(port))
  for (const { slug, port } of rows) if (port !== null && !taken.has(port)) await gamePorts.assign(slug, port)
  if (portless.length === 0) return
  let [highest] = (await db.query<{ port: number | null }>(HIGHEST)).map(({ port }) => port ?? 0)
  const given: [number, string][] = []
  for (const { id, slug } of portless) {
    highest = await openNext(slug, highest ?? 0, parts)
    given.push([highest, id])
  }
  await db.transaction(async (em) => {
    for (const values of given) await em.execute('update games set port = ? where id = ?', values)
  })
}

/** Opens the ports of games that other processes of this machine have made, when these tell of them. */
export function followPorts(parts: Parts & Pick<FastifyInstance, 'events' | 'siblings' | 'log'>): void {
  const { db, events, gamePorts, log, origins, siblings } = parts
  if (!origins.byPort || siblings.count === 1) return
  events.on('game.changed', async ({ gameId }) => {
    const [game] = await db.query<{ slug: string; port: number | null }>(
      'select slug, port from games where id = ? and deleted_at is null',
      [gameId],
    )
    if (!game?.port) return
    await gamePorts.assign(game.slug, game.port).catch((err) => log.error({ err }, 'the port of a game stays closed'))
  })
}

/** The ports of deleted games are not free, because a restored game keeps its own. */
const HIGHEST = 'select max(port) as port from games'

async function openNext(slug: string, highest: number, { config, gamePorts }: Parts): Promise<number> {
  const first = Math.max(highest, config.listen.port) + 1
  for (let port = first; ; port++) {
    try {
      await gamePorts.assign(slug, port)
      return port
    } catch (error) {
      if (!(error instanceof StartupError) || port - first >= ATTEMPTS) throw error
    }
  }
}
