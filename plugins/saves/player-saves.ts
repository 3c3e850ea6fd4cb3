import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { cutPage, inPages, mustBeCursor } from '../../core/http/pagination.ts'
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

/** Selects a page of the games in which a player has saves. */
interface GamesPage {
  limit: number
  /** The id of the last game of the page before. */
  cursor?: string | undefined
}

/**
 * Lists games in which a player has saves, each page by title. Games that were permanently deleted are not among them.
 */
export async function gamesOf(
  parts: Pick<Parts, 'db' | 'games' | 'saves'>,
  playerId: string,
  { limit, cursor }: GamesPage,
): Promise<{ games: GameSaves[]; nextCursor: string | null }> {
  const { saves } = parts
  const before = mustBeCursor('gam', cursor) ?? null
  const { page, nextCursor } = cutPage(await readGames(parts.db, playerId, before, limit + 1), limit)
  const ids = idsOf(page)
  const [named, lists] = await Promise.all([namesOf(parts, playerId, ids), saves.listAll(playerId, ids)])
  const games = named.flatMap((game) => {
    const list = lists.get(game.id)
    return list ? { game, ...list } : []
  })
  return { games: games.sort((a, b) => a.game.title.localeCompare(b.game.title)), nextCursor }
}

const readGames = (db: Parts['db'], playerId: string, before: string | null, limit: number) =>
  db.query<{ id: string }>(
    `select g.id from save_usage u join games g on g.id = u.game_id
     where u.player_id = ? and u.kept_bytes > 0 ${before === null ? '' : 'and u.game_id < ?'}
     order by u.game_id desc limit ?`,
    [playerId, ...(before === null ? [] : [before]), limit],
  )

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

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
  let separator = ''
  yield '['
  const pages = inPages<{ id: string }>((after, limit) => readGames(parts.db, playerId, after?.id ?? null, limit))
  for await (const page of pages) {
    for (const game of await namesOf(parts, playerId, idsOf(page))) {
      const { saves } = await parts.saves.list({ gameId: game.id, playerId })
      yield `${separator}\n{"game":${JSON.stringify(game)},"saves":[`
      separator = ','
      for (const [index, info] of saves.entries()) {
        left -= info.size
        const value =
          left >= 0
            ? await exportedValue(parts.saves, { gameId: game.id, playerId }, info)
            : { download: `${parts.origins.portal}/settings/saves/${game.id}/${info.key}/value` }
        const exported: ExportedSave = { ...info, ...value }
        yield `${index > 0 ? ',' : ''}\n${JSON.stringify(exported)}`
      }
      yield ']}'
    }
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
