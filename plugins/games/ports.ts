import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { StartupError } from '../../core/errors.ts'

/** Networks without wildcard names: a port for each game. Elsewhere these do nothing. */
type Parts = Pick<FastifyInstance, 'db' | 'config' | 'origins' | 'gamePorts'>

/** How many ports that other programs have are passed over. */
const ATTEMPTS = 50

/**
 * Opens the next free port for a new game, above the server's own and those of the other games.
 *
 * @returns null where games have names
 * @throws StartupError when there is none
 */
export async function openPort(
  em: SqlEntityManager,
  slug: string,
  { config, origins, gamePorts }: Parts,
): Promise<number | null> {
  if (!origins.byPort) return null
  const rows = await em.execute<{ port: number | null }[]>('select max(port) as port from games')
  const first = Math.max(rows[0]?.port ?? 0, config.listen.port) + 1
  for (let port = first; ; port++) {
    try {
      await gamePorts.assign(slug, port)
      return port
    } catch (error) {
      if (!(error instanceof StartupError) || port - first >= ATTEMPTS) throw error
    }
  }
}

/** Opens the port of a game that had one. @throws StartupError when another program has it now */
export async function reopenPort(slug: string, port: number, { origins, gamePorts }: Parts): Promise<void> {
  if (origins.byPort) await gamePorts.assign(slug, port)
}

/** Opens the ports of the games there are. */
export async function reopenPorts({ db, origins, gamePorts }: Parts): Promise<void> {
  if (!origins.byPort) return
  const rows = await db.query<{ slug: string; port: number }>(
    'select slug, port from games where port is not null and deleted_at is null',
  )
  for (const { slug, port } of rows) await gamePorts.assign(slug, port)
}
