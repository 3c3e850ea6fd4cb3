import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Parameter } from '../../../core/data/database.ts'
import { blobsOf } from '../manifest/stored-manifest.ts'
import { chunksOf, PLACEHOLDERS } from './blobs.ts'

/** Who brings files to which game. */
export interface Uploader {
  playerId: string
  gameId: string
}

/** Reads rows, in a transaction or outside of one. */
type Query = <Row extends object>(sql: string, values: Parameter[]) => Promise<Row[]>

const OWNED = `select sha256 from owner_blobs where owner_id = ? and sha256 in (${PLACEHOLDERS})`

/** The newest deploys of a game by its other makers. An earlier version of the program names only the owner. */
const OF_OTHERS = `select id from deploys where game_id = ? and coalesce(player_id, owner_id) <> ?
  and state in ('live', 'superseded') order by id desc limit 20`

/**
 * Lists the digests that need not be uploaded again: those that the player has proved to have by finalized deploys, and
 * those of deploys of the same game by its other makers. It tells nothing about the files of anybody else.
 *
 * In a transaction that has reserved the digests the result stays valid while the deploy is open.
 *
 * @param digests distinct
 */
export async function knownBlobs(
  query: Query,
  { playerId, gameId }: Uploader,
  digests: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>()
  for (const chunk of chunksOf(digests)) {
    await nextTurn()
    for (const { sha256 } of await query<{ sha256: string }>(OWNED, [playerId, ...chunk])) known.add(sha256)
  }
  const others = known.size < digests.length ? await query<{ id: string }>(OF_OTHERS, [gameId, playerId]) : []
  const wanted = new Set(digests)
  for (const { id } of others) {
    if (known.size >= wanted.size) break
    const [row] = await query<{ files: string }>('select files from deploy_manifests where deploy_id = ?', [id])
    for (const { sha256 } of row ? await blobsOf(row.files) : []) if (wanted.has(sha256)) known.add(sha256)
  }
  return known
}
