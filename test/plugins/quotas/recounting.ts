import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { StoredKind } from '../../../plugins/quotas/index.ts'
import { Recount } from '../../../plugins/quotas/recount.ts'

/** Counts everything anew, and compares it with what is noted. */
export async function assertCountsHold(t: Test, app: FastifyInstance, message = 'the counts equal a recount') {
  const wrong = await new Recount(app, app.quotas).run(new AbortController().signal)
  t.same(wrong, [], message)
}

/**
 * Notes the deploys that each count of a game reads.
 *
 * @param afterFirst called when the first count has read them
 */
export function noteDeployCounts(app: FastifyInstance, afterFirst?: () => Promise<unknown>): (string | undefined)[][] {
  const counts: (string | undefined)[][] = []
  const kind = app.quotas.kinds.get('deploys') as StoredKind
  const ofGame = kind.ofGame?.bind(kind)
  kind.ofGame = async function* (em, gameId, known) {
    const read: (string | undefined)[] = []
    const isFirst = counts.push(read) === 1
    for await (const thing of ofGame?.(em, gameId, known) ?? []) {
      read.push(thing.id)
      yield thing
    }
    if (isFirst) await afterFirst?.()
  }
  return counts
}
