import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { Saves } from './saves.ts'
import type { SaveInfo } from './schemas.ts'

/** The values of an export have at most this many bytes in total. The pages offer each of the others for download. */
const MOST_BYTES = 64 * 1024 * 1024

/** A game in which a player has saved something. */
export interface NamedGame {
  id: string
  /** Null while the player may not see the game. */
  slug: string | null
  title: string
}

/** The title of a game that the player may not see (any more). The saves remain the player's. */
const NOT_SHOWN = 'A game that is not shown'

/** The saves of a player in one game, for pages and exports. */
export interface GameSaves {
  game: NamedGame
  usedBytes: number
  limitBytes: number
  saves: SaveInfo[]
  /** Deleted saves, whose versions can be restored. */
  deleted: SaveInfo[]
}

/** An exported value: text, or bytes in base64; without one when the export would become too large. */
type ExportedSave = SaveInfo & { text?: string; base64?: string; download?: string }

type Parts = Pick<FastifyInstance, 'db' | 'games' | 'origins'> & { saves: Saves }

/** Lists the games in which a player has saves, by title. Games that were permanently deleted are not among them. */
export async function gamesOf(parts: Pick<Parts, 'db' | 'games' | 'saves'>, playerId: string): Promise<GameSaves[]> {
  const { db, saves } = parts
  const rows = await db.query<{ id: string }>(
    `select g.id from save_usage u join games g on g.id = u.game_id
     where u.player_id = ? and u.kept_bytes > 0 order by g.id`,
    [playerId],
  )
  const ids = rows.map(({ id }) => id)
  const lists: GameSaves[] = []
  for (const game of (await namesOf(parts, playerId, ids)).sort((a, b) => a.title.localeCompare(b.title))) {
    const owner = { gameId: game.id, playerId }
    lists.push({ game, ...(await saves.list(owner)), deleted: await saves.deleted(owner) })
  }
  return lists
}

/** Names games to a player, in the order of the ids. */
export async function namesOf(
  { games }: Pick<Parts, 'games'>,
  playerId: string,
  ids: readonly string[],
): Promise<NamedGame[]> {
  const seen = await games.seenBy(playerId, ids)
  return ids.map((id) => ({ id, slug: seen.get(id)?.slug ?? null, title: seen.get(id)?.title ?? NOT_SHOWN }))
}

/** Counts the players who have saved something in a game. */
export async function playersWithSaves(db: Parts['db'], gameId: string): Promise<number> {
  // Without a condition on other columns, the index alone answers it.
  const [row] = await db.query<{ players: number }>('select count(*) as players from save_usage where game_id = ?', [
    gameId,
  ])
  return Number(row?.players ?? 0)
}

/** Exports all saves of a player with their values, as JSON text in parts: one value at a time is in memory. */
export async function* exportSaves(parts: Parts, playerId: string): AsyncGenerator<string> {
  let left = MOST_BYTES
  yield '['
  for (const [index, { game, saves }] of (await gamesOf(parts, playerId)).entries()) {
    yield `${index > 0 ? ',' : ''}\n{"game":${JSON.stringify(game)},"saves":[`
    for (const [nth, info] of saves.entries()) {
      left -= info.size
      const exported: ExportedSave =
        left >= 0
          ? { ...info, ...(await exportedValue(parts.saves, { gameId: game.id, playerId }, info)) }
          : { ...info, download: `${parts.origins.portal}/settings/saves/${game.id}/${info.key}/value` }
      yield `${nth > 0 ? ',' : ''}\n${JSON.stringify(exported)}`
    }
    yield ']}'
  }
  yield ']'
}

/** The values are whatever a game wrote, so they are not parsed. */
async function exportedValue(
  saves: Saves,
  owner: { gameId: string; playerId: string },
  { key }: SaveInfo,
): Promise<Pick<ExportedSave, 'text' | 'base64'>> {
  const found = await saves.find(owner, key).catch(() => null)
  if (!found) return {}
  const bytes = await found.read()
  return isUtf8(bytes) ? { text: bytes.toString() } : { base64: bytes.toString('base64') }
}
