import type { Clock } from '../../core/clock.ts'
import type { Database } from '../../core/data/database.ts'
import { ChangedName, DeployRow } from './entities.ts'
import { carriesDigest } from './manifest/digest-name.ts'
import type { Manifest, Manifests } from './manifest/manifests.ts'
import { linesOf } from './manifest/stored-manifest.ts'

/** How long files of an earlier live build are served to pages that were open then. */
const STILL_SERVED_MS = 24 * 3_600_000
/** The most builds that are looked at in that time. */
const MOST_RECENT = 20
/** The number of names in one statement. */
const NAMES_AT_ONCE = 200

interface Parts {
  db: Database
  clock: Clock
  manifests: Pick<Manifests, 'of'>
}

/** What a game served before: names whose content changed, and the files of builds that were live a short time ago. */
export class ServedNames {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Records which names with a digest have another content in a build than in an earlier live one that is kept. Browsers
   * must revalidate these, since the digest is none. It is called before the build goes live.
   */
  async note({ id, gameId }: { id: string; gameId: string }): Promise<void> {
    const { db } = this.#parts
    const named = new Map<string, string>()
    for await (const [path, sha256] of this.#lines(id)) if (carriesDigest(path)) named.set(path, sha256)
    if (named.size === 0) return
    const earlier = await db.query<{ id: string }>(
      "select id from deploys where game_id = ? and id <> ? and live_at is not null and state in ('live', 'superseded')",
      [gameId, id],
    )
    const changed = new Set<string>()
    for (const deploy of earlier) {
      for await (const [path, sha256] of this.#lines(deploy.id)) {
        if ((named.get(path) ?? sha256) !== sha256) changed.add(path)
      }
    }
    const rows = Array.from(changed, (path) => ({ gameId, path }))
    for (let start = 0; start < rows.length; start += NAMES_AT_ONCE) {
      const some = rows.slice(start, start + NAMES_AT_ONCE)
      await db.transaction((em) => em.upsertMany(ChangedName, some, { onConflictAction: 'ignore' }))
    }
  }

  /** Returns the names that carry a digest by their form, and have had several contents. */
  async changed(gameId: string): Promise<ReadonlySet<string>> {
    const rows = await this.#parts.db.query<{ path: string }>(
      'select path from deploy_changed_names where game_id = ?',
      [gameId],
    )
    return new Set(rows.map(({ path }) => path))
  }

  /** Returns the builds that were live within the last 24 hours and are no more, the latest first. */
  async recent(gameId: string): Promise<Manifest[]> {
    const { db, clock, manifests } = this.#parts
    const since = clock.now().getTime() - STILL_SERVED_MS
    const rows = await db
      .em()
      .find(
        DeployRow,
        { gameId, liveAt: { $ne: null }, state: { $in: ['live', 'superseded'] } },
        { fields: ['id', 'liveAt'], orderBy: { liveAt: 'desc', id: 'desc' }, limit: MOST_RECENT },
      )
    // A build was live until the next one went live.
    const ended = rows.slice(1).filter((_row, index) => (rows[index]?.liveAt?.getTime() ?? 0) > since)
    const found = await Promise.all(ended.map(({ id }) => manifests.of(id)))
    return found.filter((manifest) => manifest !== null)
  }

  /** Yields the files of a build without caching it, since it is read once. */
  async *#lines(deployId: string): AsyncGenerator<readonly [path: string, sha256: string]> {
    const [row] = await this.#parts.db.query<{ files: string }>(
      'select files from deploy_manifests where deploy_id = ?',
      [deployId],
    )
    if (!row) return
    for await (const lines of linesOf(row.files)) for (const [path, sha256] of lines) yield [path, sha256]
  }
}
