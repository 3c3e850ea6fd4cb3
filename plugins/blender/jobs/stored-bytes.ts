import type { FastifyInstance } from 'fastify'
import type { StoredKind } from '../../quotas/index.ts'
import type { Artifact } from '../schemas.ts'

/** The kind under which the files of Blender jobs count in their owners' quotas. */
export const STORED_KIND = 'jobs'

interface Row {
  id: string
  name: string
  queuedAt: number
  artifacts: string
}

/** The storage of players' Blender jobs. @param remove deletes one job of a player */
export function storedJobs(app: FastifyInstance, remove: StoredKind['remove']): StoredKind {
  const read = async (ownerId: string) => {
    const jobs = await app.db.query<Row>(
      `select id, name, queued_at as "queuedAt", artifacts from blender_jobs
       where owner_id = ? and status = 'completed' order by id`,
      [ownerId],
    )
    return jobs.map((job) => ({ ...job, bytes: bytesOf(JSON.parse(job.artifacts) as Artifact[]) }))
  }
  return {
    label: 'Files of Blender jobs',
    async owners() {
      return (await app.db.query<{ id: string }>('select distinct owner_id as id from blender_jobs')).map(
        ({ id }) => id,
      )
    },
    async tally(ownerId) {
      return { bytes: (await read(ownerId)).reduce((sum, { bytes }) => sum + bytes, 0), blobs: [] }
    },
    async things(ownerId) {
      const jobs = await read(ownerId)
      return jobs
        .filter(({ bytes }) => bytes > 0)
        .map(({ id, name, queuedAt, bytes }) => ({
          kind: STORED_KIND,
          id,
          title: name,
          bytes,
          frees: bytes,
          removable: true,
          createdAt: new Date(queuedAt).toISOString(),
          url: `${app.origins.studio}/blender/jobs/${id}`,
        }))
    },
    remove,
  }
}

export const bytesOf = (artifacts: readonly Artifact[]): number => artifacts.reduce((sum, { size }) => sum + size, 0)
