import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Quotas, StoredKind, StoredThing, Tally } from '../quotas/index.ts'
import { chunksOf, PLACEHOLDERS } from './blobs/blobs.ts'
import { ManifestRow } from './entities.ts'
import { blobsOf, bytesOfStored } from './manifest/stored-manifest.ts'
import type { DeployState } from './schemas.ts'

/** The kind under which the bytes of deploys count in their owners' quotas. */
export const STORED_KIND = 'deploys'

/** The states of deploys whose files are stored or expected. Deploys count from the announcement on. */
export const COUNTED: readonly DeployState[] = ['uploading', 'finalizing', 'live', 'superseded']
/** The states of deploys whose files are not stored, and that have no manifest. */
export const OVER: readonly DeployState[] = ['expired', 'failed']

/**
 * Takes deploys out of their owners' counts and removes their manifests, inside the transaction that ends them.
 *
 * @param deployIds each was in one of the states `COUNTED` before, and still has its manifest
 */
export async function releaseStorage(em: SqlEntityManager, quotas: Quotas, deployIds: string[]): Promise<void> {
  if (deployIds.length === 0) return
  // The rows are sorted by owner, so that concurrent calls for deploys of several owners do not deadlock.
  const rows = await em.execute<{ id: string; ownerId: string }[]>(
    `select id, owner_id as "ownerId" from deploys where id in (${deployIds.map(() => '?').join(', ')}) order by owner_id, id`,
    deployIds,
  )
  for (const { id: deployId, ownerId } of rows) {
    // One manifest at a time is in memory.
    const manifest = await em.findOne(ManifestRow, { deployId }, { disableIdentityMap: true })
    if (!manifest) continue
    const [bytes, blobs] = [bytesOfStored(manifest.files), await blobsOf(manifest.files)]
    await quotas.remove(em, ownerId, { kind: STORED_KIND, bytes, blobs })
    await em.nativeDelete(ManifestRow, { deployId })
  }
}

/**
 * Gives the deploys of a game to its new owner, in the transaction that changes it. A deploy without a maker was made by
 * the former owner. The write also waits for transactions that end one of these deploys.
 */
export async function giveDeploys(em: SqlEntityManager, gameId: string, ownerId: string): Promise<void> {
  await em.execute(
    'update deploys set player_id = coalesce(player_id, owner_id), owner_id = ? where game_id = ?',
    [ownerId, gameId],
    'run',
  )
}

/** The storage of players' deploys. Each content counts once, however many deploys contain it. */
export function storedDeploys(app: FastifyInstance): StoredKind {
  return {
    label: 'Deploys',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from deploys')).map(({ id }) => id)
    },
    async tally(ownerId): Promise<Tally> {
      const tally: Tally = { bytes: 0, blobs: [] }
      for await (const files of manifestsOf(app, ownerId)) {
        tally.bytes += bytesOfStored(files)
        for (const blob of await blobsOf(files)) tally.blobs.push(blob)
      }
      return tally
    },
    async things(ownerId, limit): Promise<StoredThing[]> {
      const largest = await app.db.query<KeptDeploy>(
        `select d.id, d.state, d.pinned, d.created_at as "createdAt", d.file_count as files, d.total_bytes as bytes,
           g.title, g.slug, case when g.deleted_at is null then 0 else 1 end as deleted
         from deploys d join games g on g.id = d.game_id
         where d.owner_id = ? and d.state not in (?, ?) order by d.total_bytes desc, d.id desc limit ?`,
        [ownerId, ...OVER, limit],
      )
      const things: StoredThing[] = []
      let left = FILES_EXAMINED
      for (const { id, state, pinned, createdAt, files, bytes, title, slug, deleted } of largest) {
        left -= files
        const sizes = left >= 0 ? await sizesOf(app, ownerId, id) : null
        things.push({
          kind: STORED_KIND,
          id,
          title: `${title}: ${deleted ? 'of a deleted game' : NAMES[state]}`,
          bytes: sizes?.bytes ?? Number(bytes),
          frees: sizes?.frees ?? null,
          createdAt: new Date(createdAt).toISOString(),
          url: deleted ? `${app.origins.portal}/games` : `${app.origins.portal}/games/${slug}/deploys`,
          removable: state !== 'live' && !pinned && !deleted,
        })
        await nextTurn()
      }
      return things
    },
    remove: (ownerId, id) => app.deploys.remove(ownerId, id),
    async *ofGame(em, gameId, known) {
      for (const id of await countedOf(em, gameId)) {
        if (known.has(id)) continue
        const [row] = await em.execute<{ files: string }[]>('select files from deploy_manifests where deploy_id = ?', [
          id,
        ])
        // Outside a transaction the deploy may have ended meanwhile.
        if (row) yield { id, bytes: bytesOfStored(row.files), blobs: await blobsOf(row.files) }
      }
    },
    idsOfGame: countedOf,
  }
}

/** Lists the deploys of a game that count. The manifest of a deploy never changes. */
async function countedOf(em: SqlEntityManager, gameId: string): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select d.id from deploys d join deploy_manifests m on m.deploy_id = d.id
     where d.game_id = ? and d.state not in (?, ?) order by d.id`,
    [gameId, ...OVER],
  )
  return rows.map(({ id }) => id)
}

/**
 * The files whose sharing one list examines, over all of its deploys. What the removal of a further deploy would free is
 * not told: to examine a million files for a page would take seconds.
 */
const FILES_EXAMINED = 40_000

interface KeptDeploy {
  id: string
  state: DeployState
  pinned: number
  createdAt: number
  files: number
  /** Of its files, those with the same content several times. */
  bytes: number | string
  title: string
  slug: string
  /** Whether its game was deleted, and can still be restored. */
  deleted: number
}

/**
 * Returns the bytes of a deploy, and those that its removal frees: of its manifest, and of the contents that no other
 * deploy of the owner has. It is null for a deploy that was removed meanwhile.
 */
async function sizesOf(
  { db }: Pick<FastifyInstance, 'db'>,
  ownerId: string,
  deployId: string,
): Promise<{ bytes: number; frees: number } | null> {
  const [row] = await db.query<{ files: string }>('select files from deploy_manifests where deploy_id = ?', [deployId])
  if (!row) return null
  const blobs = await blobsOf(row.files)
  let frees = bytesOfStored(row.files)
  const bytes = frees + blobs.reduce((total, blob) => total + blob.bytes, 0)
  const sizes = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]))
  for (const chunk of chunksOf([...sizes.keys()])) {
    const unshared = await db.query<{ sha256: string; bytes: number | string }>(
      `select sha256, bytes from quota_shared_blobs
       where owner_id = ? and kind = ? and sha256 in (${PLACEHOLDERS}) and refs = 1`,
      [ownerId, STORED_KIND, ...chunk],
    )
    for (const { sha256, bytes } of unshared) if (sizes.get(sha256) === Number(bytes)) frees += Number(bytes)
    await nextTurn()
  }
  return { bytes, frees }
}

/** Yields the manifests of an owner's deploys, with one in memory at a time. */
async function* manifestsOf(app: FastifyInstance, ownerId: string): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const [row] = await app.db.query<{ id: string; files: string }>(
      `select d.id, m.files from deploys d join deploy_manifests m on m.deploy_id = d.id
       where d.owner_id = ? and d.id > ? and d.state not in (?, ?) order by d.id limit 1`,
      [ownerId, after, ...OVER],
    )
    if (!row) return
    yield row.files
    after = row.id
    await nextTurn()
  }
}

const NAMES: Partial<Record<DeployState, string>> = {
  live: 'the live deploy',
  superseded: 'an earlier deploy',
  uploading: 'a deploy under way',
  finalizing: 'a deploy under way',
}
