import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { Recount } from '../../../plugins/quotas/recount.ts'

/** Counts everything anew, and compares it with what is noted. */
export async function assertCountsHold(t: Test, app: FastifyInstance, message = 'the counts equal a recount') {
  const wrong = await new Recount(app, app.quotas).run(new AbortController().signal)
  t.same(wrong, [], message)
}
