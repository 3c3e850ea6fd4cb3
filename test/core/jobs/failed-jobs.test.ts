// In a process of its own: ids never go back, and other files have been further in time.
import t from 'tap'
import { PLATFORM } from '../../../core/jobs/jobs.ts'
import { startPlatform } from '../../kit/platform.ts'

const DAY = 24 * 3_600_000
const never = new AbortController().signal

t.test('a job that failed for good is there for thirty days; one that waits is never forgotten', async (t) => {
  const { app, clock } = await startPlatform(t, { only: [] })
  const names = async () => {
    const rows = await app.db.query<{ name: string }>(
      `select name from background_jobs where coalesce("key", '') <> 'every'`,
    )
    return rows.map(({ name }) => name).toSorted()
  }
  const add = (name: string) => app.jobs.enqueue(app.db.em(), { owner: PLATFORM, name })
  await add('old and failed')
  await add('old and waiting')
  await app.db.execute("update background_jobs set state = 'failed', due_at = null where name = 'old and failed'")
  clock.advance(2 * DAY)
  await add('failed later')
  await app.db.execute("update background_jobs set state = 'failed', due_at = null where name = 'failed later'")

  clock.advance(28 * DAY - 1)
  await app.jobs.forgetFailed(never)
  t.same(await names(), ['failed later', 'old and failed', 'old and waiting'])
  clock.advance(2)
  await app.jobs.forgetFailed(never)
  t.same(await names(), ['failed later', 'old and waiting'])
})
