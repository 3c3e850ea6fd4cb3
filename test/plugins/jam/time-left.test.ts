import t from 'tap'
import { timeLeft } from '../../../plugins/jam/time-left.ts'

t.test('a duration has its two greatest units', async (t) => {
  const [minute, hour] = [60_000, 3_600_000]
  const texts = [47 * hour + 59 * minute, 48 * hour, 2 * hour, 90 * minute, 9 * minute + 30_400, 59_999, 0, -5]
  t.strictSame(texts.map(timeLeft), [
    '1 d 23 h',
    '2 d 0 h',
    '2 h 0 min',
    '1 h 30 min',
    '9 min 30 s',
    '59 s',
    '0 s',
    '0 s',
  ])
})
