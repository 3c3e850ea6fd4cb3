import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { printablePath } from '../../core/data/file-path.ts'
import { InvalidRequest, NotFound } from '../../core/errors.ts'
import { mediaTypeOf, problemOf } from '../deploy/index.ts'
import type { Game } from '../games/index.ts'
import { filesOf, roomOf } from './draft-files.ts'
import { DraftStore, type HeldDraft } from './draft-store.ts'
import { DraftFile, DraftRow } from './entities.ts'
import { DraftConflict, DraftFull, FileExists } from './errors.ts'
import type { Draft, DraftFileInfo, DraftState, EditorLimits, Rename, WrittenFile } from './schemas.ts'

export type DraftParts = Pick<
  FastifyInstance,
  'db' | 'clock' | 'events' | 'eventStreams' | 'games' | 'deploys' | 'quotas' | 'storage' | 'identity'
>

/** A file of a draft. */
export interface DraftContent {
  size: number
  sha256: string
  contentType: string
  revision: number
  /** Opens the file, or a part of it. */
  open(range?: { start: number; end: number }): Promise<Readable>
}

/** What the caller knows of a file that it changes. */
export interface Expectation {
  /** The revision of the file that it has seen; 0 for a file of the base. */
  revision?: number
  /** It expects that there is no such file. */
  absent?: boolean
}

/**
 * Drafts: what the editor of a game changes, file by file, before it is published. A game has one draft. It has only the
 * changed files; the others are those of the deploy on which it is based.
 */
export class Drafts {
  readonly store: DraftStore
  readonly #parts: DraftParts
  readonly #limits: EditorLimits

  constructor(parts: DraftParts, limits: EditorLimits) {
    this.#parts = parts
    this.#limits = limits
    this.store = new DraftStore(parts)
  }

  /** Returns a game that the player may edit. @throws NotFound */
  mustEdit(playerId: string, idOrSlug: string): Promise<Game> {
    return this.#parts.games.mustMake(playerId, idOrSlug)
  }

  /**
   * Returns the draft of a game. Without one it has the files of the live deploy, and revision 0.
   *
   * @throws NotFound
   */
  async get(playerId: string, idOrSlug: string): Promise<Draft> {
    const game = await this.mustEdit(playerId, idOrSlug)
    const { row, files: changes } = await this.store.read(game.id)
    const base = await this.store.baseOf(game, { row, files: changes })
    const files = filesOf(base, changes)
    const revisions = new Map(changes.map(({ path, revision }) => [path, revision]))
    const room = roomOf(base, row, files)
    const changeOf = (path: string, sha256: string): DraftFileInfo['change'] => {
      const before = base.files.get(path)
      return before === undefined ? 'added' : before.sha256 === sha256 ? null : 'changed'
    }
    const list = Array.from(files.values(), ({ path, size, sha256, contentType }) => ({
      path,
      size,
      contentType,
      revision: revisions.get(path) ?? 0,
      change: changeOf(path, sha256),
    }))
    const removed = [...base.files.keys()].filter((path) => !files.has(path)).sort()
    const names = await this.#parts.identity.players.namesOf(row ? [row.updatedBy] : [])
    return {
      gameId: game.id,
      revision: row?.revision ?? 0,
      baseDeployId: base.deployId,
      outdated: base.deployId !== game.liveDeployId,
      changed: removed.length > 0 || list.some(({ change }) => change !== null) || room !== roomOf(base, null, files),
      room,
      files: list,
      removed,
      updatedAt: row && row.revision > 0 ? row.updatedAt.toISOString() : null,
      updatedBy: row && row.revision > 0 ? { id: row.updatedBy, name: names.get(row.updatedBy) ?? 'Somebody' } : null,
    }
  }

  /** Returns a file of the draft, or of its base. @throws NotFound */
  async file(playerId: string, idOrSlug: string, path: string): Promise<DraftContent> {
    const game = await this.mustEdit(playerId, idOrSlug)
    if (problemOf(path)) throw new NotFound('file')
    const em = this.#parts.db.em()
    const row = await em.findOne(DraftRow, { gameId: game.id })
    const change = row && (await em.findOne(DraftFile, { gameId: game.id, path }))
    // Whether the draft has any change decides its base.
    const some = change ? [change] : row ? await em.find(DraftFile, { gameId: game.id }, { limit: 1 }) : []
    const found = change ?? (await this.store.baseOf(game, { row, files: some })).files.get(path)
    if (!found?.sha256) throw new NotFound('file')
    const { sha256, size } = found
    return {
      size,
      sha256,
      contentType: 'contentType' in found ? found.contentType : mediaTypeOf(path),
      revision: change?.revision ?? 0,
      open: (range) => this.#parts.deploys.openBlob({ sha256, size }, range),
    }
  }

  /**
   * Writes one file.
   *
   * @throws DraftConflict when the file is not as expected; InvalidRequest for a path that no deploy may have
   * @throws NotFound, QuotaExceeded, StorageFull, DraftFull: nothing is changed
   */
  async write(
    playerId: string,
    idOrSlug: string,
    { path, bytes, expected = {} }: { path: string; bytes: Buffer; expected?: Expectation },
  ): Promise<WrittenFile> {
    mustBePath(path)
    const game = await this.mustEdit(playerId, idOrSlug)
    const content = await this.#parts.deploys.drafts.store(bytes)
    const written = await this.store.change(game, playerId, async (draft, base) => {
      const known = draft.files.get(path) ?? base.files.get(path)
      const revision = draft.files.get(path)?.revision ?? 0
      const isThere = Boolean(known?.sha256)
      if (expected.absent && isThere) throw this.#conflict(draft, path)
      // A client that sends a text again because the answer was lost has seen an earlier revision.
      if (known?.sha256 === content.sha256) return { revision, now: draft.now }
      if ((expected.revision ?? revision) !== revision) throw this.#conflict(draft, path)
      this.#mustFit(draft, path)
      await this.store.put(draft, path, content, { uploaded: content.size })
      await this.store.touch(draft)
      return draft
    })
    await this.#announce(game)
    return { path, size: content.size, revision: written.revision, updatedAt: written.now.toISOString() }
  }

  /** Removes one file. @throws DraftConflict, NotFound */
  async remove(playerId: string, idOrSlug: string, path: string, expected: Expectation = {}): Promise<DraftState> {
    const game = await this.mustEdit(playerId, idOrSlug)
    const done = await this.store.change(game, playerId, async (draft, base) => {
      const known = draft.files.get(path) ?? base.files.get(path)
      if (!known?.sha256) throw new NotFound('file')
      const revision = draft.files.get(path)?.revision ?? 0
      if ((expected.revision ?? revision) !== revision) throw this.#conflict(draft, path)
      await this.#take(draft, path, base.files.has(path))
      await this.store.touch(draft)
      return draft
    })
    await this.#announce(game)
    return stateOf(done)
  }

  /** Renames a file, or a folder with everything in it. @throws NotFound, FileExists, InvalidRequest */
  async rename(playerId: string, idOrSlug: string, { from, to }: Rename): Promise<DraftState> {
    mustBePath(to)
    const game = await this.mustEdit(playerId, idOrSlug)
    const done = await this.store.change(game, playerId, async (draft, base) => {
      const files = filesOf(base, [...draft.files.values()])
      const moved = [...files.values()].filter(({ path }) => path === from || path.startsWith(`${from}/`))
      if (moved.length === 0) throw new NotFound('file')
      const target = ({ path }: { path: string }) => to + path.slice(from.length)
      const leaving = new Set(moved.map(({ path }) => path))
      for (const file of moved) {
        const path = target(file)
        mustBePath(path)
        if (files.has(path) && !leaving.has(path)) throw new FileExists(path)
      }
      const room = roomOf(base, draft.row, files)
      await this.#parts.deploys.drafts.reserve(
        draft.em,
        moved.map(({ sha256 }) => sha256),
      )
      for (const { path } of moved) await this.#take(draft, path, base.files.has(path))
      for (const file of moved) {
        this.#mustFit(draft, target(file))
        await this.store.put(draft, target(file), file)
      }
      // A room script is named by its path.
      if (room !== null && leaving.has(room)) await this.#setRoom(draft, target({ path: room }))
      await this.store.touch(draft)
      return draft
    })
    await this.#announce(game)
    return stateOf(done)
  }

  /** Chooses the room script. @param room null for none @throws NotFound when there is no such file */
  async setRoom(playerId: string, idOrSlug: string, room: string | null): Promise<DraftState> {
    const game = await this.mustEdit(playerId, idOrSlug)
    const done = await this.store.change(game, playerId, async (draft, base) => {
      const files = filesOf(base, [...draft.files.values()])
      if (room !== null && !files.has(room)) throw new NotFound('file')
      await this.#setRoom(draft, room === base.room ? null : (room ?? ''))
      await this.store.touch(draft)
      return draft
    })
    await this.#announce(game)
    return stateOf(done)
  }

  /** Throws all changes away. */
  async discard(playerId: string, idOrSlug: string): Promise<void> {
    const game = await this.mustEdit(playerId, idOrSlug)
    await this.store.change(game, playerId, async (draft) => {
      if (draft.files.size === 0 && draft.row.room === null) return
      for (const path of [...draft.files.keys()]) await this.store.drop(draft, path)
      await this.#setRoom(draft, null)
      await this.store.touch(draft)
    })
    await this.#announce(game)
  }

  /** Bases the changes on the live deploy, whose other files the draft then has. */
  async rebase(playerId: string, idOrSlug: string): Promise<Draft> {
    const game = await this.mustEdit(playerId, idOrSlug)
    const { liveDeployId } = game
    const live = liveDeployId === null ? null : await this.#parts.deploys.manifest(liveDeployId)
    await this.store.change(game, playerId, async (draft) => {
      if (draft.row.baseDeployId === liveDeployId) return
      await draft.em.nativeUpdate(DraftRow, { gameId: game.id }, { baseDeployId: liveDeployId })
      // What the live deploy lacks already needs no removal.
      for (const { path, sha256 } of [...draft.files.values()]) {
        if (sha256 === null && !live?.has(path)) await this.store.drop(draft, path)
      }
      await this.store.touch(draft)
    })
    await this.#announce(game)
    return this.get(playerId, game.id)
  }

  /** Deletes the draft of a permanently deleted game, in the transaction of its deletion. */
  async forget(em: HeldDraft['em'], gameId: string): Promise<void> {
    await this.store.release(em, gameId)
    await em.nativeDelete(DraftFile, { gameId })
    await em.nativeDelete(DraftRow, { gameId })
  }

  /** Announces a change of the draft to its preview, and to open editors. */
  async announce(gameId: string): Promise<void> {
    const row = await this.#parts.db.em().findOne(DraftRow, { gameId })
    if (row) await this.#parts.events.emit('draft.changed', { gameId, draftId: row.id })
  }

  #announce({ id }: Game): Promise<void> {
    return this.announce(id)
  }

  async #setRoom({ em, game, row }: HeldDraft, room: string | null): Promise<void> {
    await em.nativeUpdate(DraftRow, { gameId: game.id }, { room })
    row.room = room
  }

  async #take(draft: HeldDraft, path: string, inBase: boolean): Promise<void> {
    if (inBase) await this.store.put(draft, path, null)
    else await this.store.drop(draft, path)
  }

  #mustFit({ files }: HeldDraft, path: string): void {
    if (!files.has(path) && files.size >= this.#limits.draftFiles) throw new DraftFull(this.#limits.draftFiles)
  }

  #conflict({ files, row }: HeldDraft, path: string): Error {
    const { revision, updatedAt, updatedBy } = files.get(path) ?? { ...row, revision: 0 }
    return new DraftConflict(`${printablePath(path)} was changed meanwhile. Read it, and save again.`).with({
      body: { path, revision, updatedAt: updatedAt.toISOString(), updatedBy },
    })
  }
}

/** @throws InvalidRequest for a path that no deploy may have */
function mustBePath(path: string): void {
  const problem = problemOf(path)
  if (!problem) return
  throw new InvalidRequest(`The path ${printablePath(path)} ${problem}.`).with({
    details: [{ path: 'path', message: problem }],
  })
}

const stateOf = ({ revision, now }: HeldDraft): DraftState => ({ revision, updatedAt: now.toISOString() })
