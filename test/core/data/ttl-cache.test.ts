import t from 'tap'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { defineError } from '../../../core/errors.ts'
import { manualClock } from '../../kit/driver-context.ts'

const Away = defineError('database_unavailable', 503, 'The database does not answer.')
const AGE = 5000
const OUTAGE = 60_000

/** Creates a cache whose source can be turned off and counts its calls. */
function cached(outageMs?: number) {
  const clock = manualClock()
  const source = { value: 'one' as string | null, error: null as Error | null, reads: 0 }
  const cache = new TtlCache<string>(clock, { outageMs })
  const read = () =>
    cache.get('key', async () => {
      source.reads++
      if (source.error) throw source.error
      return source.value
    })
  return { clock, source, cache, read }
}

t.test('what was read is remembered for a few seconds', async (t) => {
  const { clock, source, cache, read } = cached()
  t.equal(await read(), 'one')
  source.value = 'two'
  clock.advance(AGE - 1)
  t.equal(await read(), 'one')
  t.equal(cache.peek('key'), 'one')
  clock.advance(1)
  t.equal(cache.peek('key'), undefined)
  t.equal(await read(), 'two')
  cache.drop('key')
  t.equal(cache.peek('key'), undefined)
  t.equal(source.reads, 2)
})

t.test('without its source it fails, unless it may be old', async (t) => {
  const { clock, source, read } = cached()
  await read()
  source.error = new Away()
  clock.advance(AGE)
  await t.rejects(read(), { code: 'database_unavailable' })
})

t.test('what may be old is served through an outage, and asked for again once a second', async (t) => {
  const { clock, source, read } = cached(OUTAGE)
  await read()
  source.error = new Away()
  clock.advance(AGE)
  t.equal(await read(), 'one')
  t.equal(await read(), 'one')
  t.equal(source.reads, 2, 'no request waits for an answer meanwhile')
  clock.advance(1000)
  t.equal(await read(), 'one')
  t.equal(source.reads, 3)
  clock.advance(OUTAGE)
  await t.rejects(read(), { code: 'database_unavailable' }, 'not for ever')
  Object.assign(source, { error: null, value: 'two' })
  t.equal(await read(), 'two')
})

t.test('what was dropped, never read, or failed otherwise is not served', async (t) => {
  const { clock, source, cache, read } = cached(OUTAGE)
  source.error = new Away()
  await t.rejects(read(), { code: 'database_unavailable' })
  source.error = null
  await read()
  clock.advance(AGE)
  source.error = new Error('a defect')
  await t.rejects(read(), { message: 'a defect' })
  source.error = new Away()
  cache.drop('key')
  await t.rejects(read(), { code: 'database_unavailable' })
})

t.test('what was being read while it was dropped is not remembered: it may be older than that', async (t) => {
  const cache = new TtlCache<string>(manualClock())
  const reading = Promise.withResolvers<string>()
  const first = cache.get('key', () => reading.promise)
  cache.drop('key')
  reading.resolve('old')
  t.equal(await first, 'old', 'whoever asked before is answered')
  t.equal(cache.peek('key'), undefined)
  t.equal(await cache.get('key', async () => 'new'), 'new')
  const another = Promise.withResolvers<string>()
  const second = cache.get('other', () => another.promise)
  cache.dropWhere(() => false)
  another.resolve('old')
  await second
  t.equal(cache.peek('other'), undefined, 'nor when it could not be said whom the drop concerned')
})
