import type { FastifyInstance } from 'fastify'
import { inPages } from '../../core/http/pagination.ts'
import { GenerationRow, JobRow, JobText } from './entities.ts'

type Parts = Pick<FastifyInstance, 'db'>

const UNTRACKED = { disableIdentityMap: true } as const

/** Exports the jobs of a player in pages, with their scripts and logs; the files are on the pages of the jobs. */
export async function* exportJobs({ db }: Parts, ownerId: string): AsyncGenerator<unknown[]> {
  const pages = inPages<JobRow>((after, limit) =>
    db.em().find(JobRow, { ownerId, id: { $gt: after?.id ?? '' } }, { orderBy: { id: 'asc' }, limit, ...UNTRACKED }),
  )
  for await (const rows of pages) {
    const jobIds = rows.map(({ id }) => id)
    const texts = new Map(
      (await db.em().find(JobText, { jobId: { $in: jobIds } }, UNTRACKED)).map((text) => [text.jobId, text]),
    )
    yield rows.map(({ ownerId: _, turn: __, leaseId: ___, leaseEndsAt: ____, ...job }) => {
      const text = texts.get(job.id)
      return { ...job, script: text?.script ?? null, log: text?.log ?? '' }
    })
  }
}

/** Exports the assets that a player had generated, in pages, with their prompts. */
export async function* exportGeneratedAssets({ db }: Parts, ownerId: string): AsyncGenerator<unknown[]> {
  const pages = inPages<GenerationRow>((after, limit) =>
    db
      .em()
      .find(GenerationRow, { ownerId, id: { $gt: after?.id ?? '' } }, { orderBy: { id: 'asc' }, limit, ...UNTRACKED }),
  )
  for await (const rows of pages) yield rows.map(({ ownerId: _, ...generation }) => ({ ...generation }))
}
