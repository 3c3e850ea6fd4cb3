import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { type Game, holdOwners } from '../games/index.ts'
import type { Base } from './draft-files.ts'
import { DraftFile, DraftRow } from './entities.ts'
import { STORED_KIND } from './stored-bytes.ts'

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'deploys' | 'quotas'>

/** A draft that a transaction holds, and its files by path. */
export interface HeldDraft {
  em: SqlEntityManager
  game: Game
  /** For whom the files count. It does not change while the draft is held. */
  ownerId: string
  playerId: string
  row: DraftRow
  files: Map<string, DraftFile>
  /** The revision of this change. */
  revision: number
  now: Date
}

/** The rows of drafts. */
export class DraftStore {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Reads the draft of a game; the row is null before its first change. */
  async read(gameId: string): Promise<{ row: DraftRow | null; files: DraftFile[] }> {
    const em = this.#parts.db.em()
    const row = await em.findOne(DraftRow, { gameId })
    return { row, files: row ? await em.find(DraftFile, { gameId }) : [] }
  }

  /** Returns the build that a draft changes: the live one, while there are no changes, or the former is gone. */
  async baseOf(game: Game, { row, files }: { row: DraftRow | null; files: readonly unknown[] }): Promise<Base> {
    const { db, deploys } = this.#parts
    const chosen = baseIn({ row, files }) ?? game.liveDeployId
    for (const deployId of [chosen, game.liveDeployId]) {
      if (deployId === null) continue
      const manifest = await deploys.manifest(deployId)
      if (!manifest) continue
      const [deploy] = await db.query<{ room: string | null }>('select room_path as room from deploys where id = ?', [
        deployId,
      ])
      return { deployId, files: manifest, room: deploy?.room ?? null }
    }
    return { deployId: null, files: new Map(), room: null }
  }

  /** Makes the row of a game's draft, which names its preview. */
  async open(game: Game, playerId: string): Promise<DraftRow> {
    const em = this.#parts.db.em()
    const known = await em.findOne(DraftRow, { gameId: game.id })
    return known ?? this.#parts.db.transaction((em) => this.#hold(em, game, playerId))
  }

  /**
   * Changes a draft in one transaction. Changes of one draft run one after the other.
   *
   * @param work calls `touch` if it has changed anything
   */
  async change<Result>(
    game: Game,
    playerId: string,
    work: (draft: HeldDraft, base: Base) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      const before = await this.read(game.id)
      const base = await this.baseOf(game, before)
      const done = await this.#parts.db.transaction(async (em) => {
        const row = await this.#hold(em, game, playerId)
        const files = new Map((await em.find(DraftFile, { gameId: game.id })).map((file) => [file.path, file]))
        // A concurrent change may have begun the draft, or have ended it, after its base was read.
        if (baseIn(before) !== baseIn({ row, files: [...files.values()] })) return null
        if (row.baseDeployId !== base.deployId) {
          await em.nativeUpdate(DraftRow, { gameId: game.id }, { baseDeployId: base.deployId })
        }
        const ownerId = (await holdOwners(em, this.#parts.db, [game.id])).get(game.id)
        if (ownerId === undefined) throw new NotFound('game')
        const draft = {
          em,
          game,
          ownerId,
          playerId,
          row,
          files,
          revision: row.revision + 1,
          now: this.#parts.clock.now(),
        }
        return { result: await work(draft, base) }
      })
      if (done) return done.result
    }
  }

  /** Counts one change of the draft. */
  async touch({ em, game, playerId, revision, now }: HeldDraft): Promise<void> {
    await em.nativeUpdate(DraftRow, { gameId: game.id }, { revision, updatedAt: now, updatedBy: playerId })
  }

  /**
   * Sets the content of a file, or removes it from the base.
   *
   * @param content null for a removal
   * @param uploaded bytes that count for the day
   * @throws QuotaExceeded
   */
  async put(
    draft: HeldDraft,
    path: string,
    content: { sha256: string; size: number } | null,
    { uploaded = 0 } = {},
  ): Promise<void> {
    const { em, game, ownerId, playerId, files, revision, now } = draft
    await this.#parts.quotas.hold(em, ownerId, playerId)
    await this.#release(draft, path)
    if (content) {
      const blobs = [{ sha256: content.sha256, bytes: content.size }]
      await this.#parts.quotas.add(em, ownerId, { kind: STORED_KIND, blobs }, { uploaded, uploaderId: playerId })
    }
    const { sha256, size } = content ?? { sha256: null, size: 0 }
    const fields = { revision, sha256, size, updatedAt: now, updatedBy: playerId }
    if (files.has(path)) await em.nativeUpdate(DraftFile, { gameId: game.id, path }, fields)
    else await em.insert(DraftFile, { gameId: game.id, path, ...fields })
    files.set(path, { gameId: game.id, path, ...fields } as DraftFile)
  }

  /** Takes a file out of the draft, so that it is as in the base. */
  async drop(draft: HeldDraft, path: string): Promise<void> {
    await this.#release(draft, path)
    await draft.em.nativeDelete(DraftFile, { gameId: draft.game.id, path })
    draft.files.delete(path)
  }

  /** Takes all files of a draft out of the quota of the game's owner. */
  async release(em: SqlEntityManager, gameId: string): Promise<void> {
    const rows = await em.execute<{ ownerId: string; sha256: string; bytes: number | string }[]>(
      `select g.owner_id as "ownerId", f.sha256, f.size as bytes from draft_files f join games g on g.id = f.game_id
       where f.game_id = ? and f.sha256 is not null`,
      [gameId],
    )
    // Each file counts once, also where two have the same content.
    for (const { ownerId, sha256, bytes } of rows) {
      await this.#parts.quotas.remove(em, ownerId, { kind: STORED_KIND, blobs: [{ sha256, bytes: Number(bytes) }] })
    }
  }

  async #release({ em, ownerId, files }: HeldDraft, path: string): Promise<void> {
    const file = files.get(path)
    if (!file?.sha256) return
    const blobs = [{ sha256: file.sha256, bytes: file.size }]
    await this.#parts.quotas.remove(em, ownerId, { kind: STORED_KIND, blobs })
  }

  /** Locks the row of a draft, which is inserted if it is absent. */
  async #hold(em: SqlEntityManager, game: Game, playerId: string): Promise<DraftRow> {
    const now = this.#parts.clock.now()
    await em.execute(
      `insert into drafts (game_id, id, base_deploy_id, revision, room, updated_at, updated_by)
       values (?, ?, ?, 0, null, ?, ?) on conflict (game_id) do nothing`,
      [game.id, newId('drf', now), game.liveDeployId, now, playerId],
      'run',
    )
    return em.findOneOrFail(DraftRow, { gameId: game.id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  }
}

/** Returns the base that a draft with changes has; null for a draft without changes, or without a base. */
const baseIn = ({ row, files }: { row: DraftRow | null; files: readonly unknown[] }): string | null =>
  row !== null && (files.length > 0 || row.room !== null) ? (row.baseDeployId ?? null) : null
