import t from 'tap'
import { beginOf, periodAt, type Reset } from '../../../plugins/scores/periods.ts'
import { applySubmission, fromUnits, sortKeyOf, toUnits } from '../../../plugins/scores/units.ts'

const DAY_MS = 86_400_000

t.test('periods begin at 00:00 UTC, on Monday, and on the first day', async (t) => {
  const begins = (reset: Reset, at: string) => beginOf(reset, periodAt(reset, new Date(at)))?.toISOString()
  t.equal(begins('daily', '2026-11-21T23:59:59.999Z'), '2026-11-21T00:00:00.000Z')
  t.equal(begins('daily', '2026-11-22T00:00:00.000Z'), '2026-11-22T00:00:00.000Z')
  t.equal(begins('weekly', '2026-11-22T23:59:59.999Z'), '2026-11-16T00:00:00.000Z', 'a Sunday')
  t.equal(begins('weekly', '2026-11-23T00:00:00.000Z'), '2026-11-23T00:00:00.000Z', 'a Monday')
  t.equal(begins('monthly', '2026-12-31T23:59:59.999Z'), '2026-12-01T00:00:00.000Z')
  t.equal(begins('monthly', '2027-01-01T00:00:00.000Z'), '2027-01-01T00:00:00.000Z')
  t.equal(begins('never', '2027-01-01T00:00:00.000Z'), undefined)
})

t.test('periods follow one another without a gap, also when clocks change', async (t) => {
  for (const reset of ['daily', 'weekly', 'monthly'] as const) {
    // 2026-03-29 and 2026-10-25: European daylight saving begins and ends.
    for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2028, 0, 1); at += DAY_MS / 2) {
      const period = periodAt(reset, new Date(at))
      const [begin, end] = [beginOf(reset, period) as Date, beginOf(reset, period + 1) as Date]
      if (!(begin.getTime() <= at && at < end.getTime())) t.fail(`${reset}: ${new Date(at).toISOString()}`)
      if (periodAt(reset, new Date(end.getTime() - 1)) !== period || periodAt(reset, end) !== period + 1)
        t.fail(`${reset}: the border ${end.toISOString()}`)
    }
  }
  t.equal(beginOf('daily', periodAt('daily', new Date('2026-03-29T12:00:00Z')) + 1)?.getUTCHours(), 0)
})

t.test('scores are whole numbers of the smallest unit', async (t) => {
  t.equal(toUnits(12.34, 2), 1234)
  t.equal(toUnits(1.005, 2), 101)
  t.equal(toUnits(-0.004, 2), 0)
  t.equal(1 / toUnits(-0.004, 2), Number.POSITIVE_INFINITY, 'no negative zero')
  t.equal(toUnits(1e-7, 6), 0)
  t.equal(toUnits(Number.MAX_SAFE_INTEGER, 0), Number.MAX_SAFE_INTEGER)
  t.throws(() => toUnits(Number.MAX_SAFE_INTEGER, 1), { code: 'score_out_of_range' })
  t.throws(() => toUnits(1e21, 0), { code: 'score_out_of_range' })
  for (const score of [0, 0.1, 0.3, 1.15, -2.675, 123456.789])
    t.equal(fromUnits(toUnits(score, 3), 3), score, `${score} comes back`)
  t.equal(1 / sortKeyOf(0, 'desc'), Number.POSITIVE_INFINITY, 'no negative zero')
})

t.test('best keeps the earlier of two equal scores; sums stay exact', async (t) => {
  const held = { score: 10, detail: null, at: new Date(1) }
  const again = { score: 10, detail: '1', at: new Date(2) }
  t.equal(applySubmission({ keep: 'best', order: 'desc' }, held, again), held)
  t.equal(applySubmission({ keep: 'best', order: 'asc' }, held, { ...again, score: 9 }).score, 9)
  t.equal(applySubmission({ keep: 'last', order: 'desc' }, held, { ...again, score: 3 }).score, 3)
  const most = { ...held, score: Number.MAX_SAFE_INTEGER }
  t.throws(() => applySubmission({ keep: 'sum', order: 'desc' }, most, again), { code: 'score_out_of_range' })
})
