import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Blob, Quotas, StoredKind, StoredThing, Tally } from '../quotas/index.ts'
import type { DeployState } from './schemas.ts'

/** The kind under which the bytes of deploys count in their owners' quotas. */
export const STORED_KIND = 'deploys'

/** The states of deploys whose files are stored or expected. Deploys count from the announcement on. */
export const COUNTED: readonly DeployState[] = ['uploading', 'finalizing', 'live', 'superseded']
/** The states of deploys whose files are not stored. */
export const OVER: readonly DeployState[] = ['expired', 'failed']

interface Kept {
  id: string
  ownerId: string
  files: string
}

/**
 * Takes deploys out of their owners' counts, inside the transaction that ends them.
 *
 * @param deployIds each was in one of the states `COUNTED` before, and still has its manifest
 */
export async function releaseStorage(em: SqlEntityManager, quotas: Quotas, deployIds: string[]): Promise<void> {
  if (deployIds.length === 0) return
  // The rows are sorted by owner, so that concurrent calls for deploys of several owners do not deadlock.
  const rows = await em.execute<Kept[]>(
    `select d.id, d.owner_id as "ownerId", m.files from deploys d join deploy_manifests m on m.deploy_id = d.id
     where d.id in (${deployIds.map(() => '?').join(', ')}) order by d.owner_id, d.id`,
    deployIds,
  )
  for (const { ownerId, files } of rows) await quotas.remove(em, ownerId, { kind: STORED_KIND, blobs: blobsIn(files) })
}

/** The storage of players' deploys. Each content counts once, however many deploys contain it. */
export function storedDeploys(app: FastifyInstance): StoredKind {
  return {
    label: 'Deploys',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from deploys')).map(({ id }) => id)
    },
    async tally(ownerId): Promise<Tally> {
      const blobs: Blob[] = []
      for await (const { files } of keptOf(app, ownerId)) blobs.push(...blobsIn(files))
      return { bytes: 0, blobs }
    },
    async things(ownerId): Promise<StoredThing[]> {
      const refs = new Map<string, number>()
      const deploys: (KeptDeploy & { blobs: Blob[] })[] = []
      for await (const deploy of keptOf(app, ownerId)) {
        const blobs = blobsIn(deploy.files)
        for (const { sha256 } of blobs) refs.set(sha256, (refs.get(sha256) ?? 0) + 1)
        deploys.push({ ...deploy, blobs })
      }
      return deploys.map(({ id, blobs, state, pinned, createdAt, title, slug, deleted }) => {
        const own = blobs.filter(({ sha256 }) => refs.get(sha256) === 1)
        return {
          kind: STORED_KIND,
          id,
          title: `${title}: ${deleted ? 'of a deleted game' : NAMES[state]}`,
          bytes: sum(blobs),
          frees: sum(own),
          createdAt: new Date(createdAt).toISOString(),
          url: deleted ? `${app.origins.portal}/games` : `${app.origins.portal}/games/${slug}/deploys`,
          removable: state !== 'live' && !pinned && !deleted,
        }
      })
    },
    remove: (ownerId, id) => app.deploys.remove(ownerId, id),
  }
}

interface KeptDeploy extends Kept {
  state: DeployState
  pinned: number
  createdAt: number
  title: string
  slug: string
  /** Whether its game was deleted, and can still be restored. */
  deleted: number
}

/** Yields the stored deploys of an owner, with one manifest in memory at a time. */
async function* keptOf(app: FastifyInstance, ownerId: string): AsyncGenerator<KeptDeploy> {
  for (let after = ''; ; ) {
    const [row] = await app.db.query<KeptDeploy>(
      `select d.id, d.owner_id as "ownerId", m.files, d.state, d.pinned, d.created_at as "createdAt", g.title, g.slug,
         case when g.deleted_at is null then 0 else 1 end as deleted
       from deploys d join deploy_manifests m on m.deploy_id = d.id join games g on g.id = d.game_id
       where d.owner_id = ? and d.id > ? and d.state not in (?, ?) order by d.id limit 1`,
      [ownerId, after, ...OVER],
    )
    if (!row) return
    yield row
    after = row.id
    await nextTurn()
  }
}

/** Returns the distinct contents of a stored manifest. */
export function blobsIn(files: string): Blob[] {
  const lines = JSON.parse(files) as [path: string, sha256: string, size: number][]
  return Array.from(new Map(lines.map(([, sha256, bytes]) => [sha256, bytes])), ([sha256, bytes]) => ({
    sha256,
    bytes,
  }))
}

const NAMES: Partial<Record<DeployState, string>> = {
  live: 'the live deploy',
  superseded: 'an earlier deploy',
  uploading: 'a deploy under way',
  finalizing: 'a deploy under way',
}

const sum = (blobs: Blob[]): number => blobs.reduce((total, { bytes }) => total + bytes, 0)
