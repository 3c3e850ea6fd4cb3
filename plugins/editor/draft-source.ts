import type { FastifyInstance } from 'fastify'
import { announcementOf, type DraftBuild, type DraftSource } from '../deploy/index.ts'
import { filesOf, roomOf } from './draft-files.ts'
import type { DraftStore } from './draft-store.ts'

/** The form of the name of a preview. */
const SHORT = /^[0-9a-hjkmnp-tv-z]{10}$/
const PAGE = 1000

type Parts = Pick<FastifyInstance, 'db' | 'games'>

/** Gives the drafts to the plugin `deploy`, which serves their previews and keeps their contents. */
export class Drafted implements DraftSource {
  readonly #parts: Parts
  readonly #store: DraftStore

  constructor(parts: Parts, store: DraftStore) {
    this.#parts = parts
    this.#store = store
  }

  async byPreview(gameId: string, short: string): Promise<string | null> {
    if (!SHORT.test(short)) return null
    const [row] = await this.#parts.db.query<{ id: string }>('select id from drafts where game_id = ? and id like ?', [
      gameId,
      `%${short.toUpperCase()}`,
    ])
    return row?.id ?? null
  }

  async load(draftId: string): Promise<DraftBuild | null> {
    const { db, games } = this.#parts
    const [found] = await db.query<{ gameId: string }>('select game_id as "gameId" from drafts where id = ?', [draftId])
    const game = found ? await games.byId(found.gameId) : null
    if (!game) return null
    const { row, files: changes } = await this.#store.read(game.id)
    const base = await this.#store.baseOf(game, { row, files: changes })
    const files = filesOf(base, changes)
    const { deployId: baseDeployId } = base
    const announced = Array.from(files, ([path, file]) => announcementOf(path, file))
    return { gameId: game.id, baseDeployId, files: announced, room: roomOf(base, row, files) }
  }

  async *digests(): AsyncGenerator<readonly string[]> {
    for (let after = ''; ; ) {
      const rows = await this.#parts.db.query<{ sha256: string }>(
        'select distinct sha256 from draft_files where sha256 > ? order by sha256 limit ?',
        [after, PAGE],
      )
      yield rows.map(({ sha256 }) => sha256)
      const last = rows.at(-1)
      if (rows.length < PAGE || !last) return
      after = last.sha256
    }
  }
}
