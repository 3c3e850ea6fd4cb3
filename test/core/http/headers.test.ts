import fc from 'fast-check'
import t from 'tap'
import { chooseEncoding, ifRangeHolds, matchesEtag, parseRange } from '../../../core/http/headers.ts'
import { SEED } from '../../kit/seed.ts'

t.test('If-None-Match compares weakly and knows lists and the star', async (t) => {
  t.ok(matchesEtag('"abc"', '"abc"'))
  t.ok(matchesEtag('W/"abc"', '"abc"'))
  t.ok(matchesEtag('"x", W/"abc" , "y"', '"abc"'))
  t.ok(matchesEtag('*', '"abc"'))
  t.notOk(matchesEtag('"abcd"', '"abc"'))
  t.notOk(matchesEtag('abc', '"abc"'))
  t.notOk(matchesEtag(undefined, '"abc"'))
})

t.test('single and suffix ranges are understood', async (t) => {
  t.same(parseRange('bytes=0-99', 1000), { start: 0, end: 99 })
  t.same(parseRange('bytes=900-', 1000), { start: 900, end: 999 })
  t.same(parseRange('bytes=-100', 1000), { start: 900, end: 999 })
  t.same(parseRange('bytes=-5000', 1000), { start: 0, end: 999 })
  t.same(parseRange('bytes=990-5000', 1000), { start: 990, end: 999 })
  t.same(parseRange('Bytes=5-5', 1000), { start: 5, end: 5 })
})

t.test('a range outside of the bytes is unsatisfiable', async (t) => {
  t.equal(parseRange('bytes=1000-', 1000), 'unsatisfiable')
  t.equal(parseRange('bytes=-0', 1000), 'unsatisfiable')
  t.equal(parseRange('bytes=0-', 0), 'unsatisfiable')
})

t.test('what is no single range of bytes is ignored', async (t) => {
  const headers = [undefined, '', 'bytes=', 'bytes=-', 'bytes=5-4', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b', '0-1']
  for (const header of [...headers, 'bytes=1e3-', `bytes=0-${'9'.repeat(400)}`]) t.equal(parseRange(header, 10), null)
})

t.test('no header makes a range leave the bytes', async () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.nat(), fc.nat({ max: 5000 }), (noise, first, last, size) => {
      for (const header of [noise, `bytes=${first}-${last}`, `bytes=-${last}`, `bytes=${first}-`]) {
        const range = parseRange(header, size)
        if (range === null || range === 'unsatisfiable') continue
        if (!(range.start >= 0 && range.start <= range.end && range.end < size)) throw new Error(header)
      }
    }),
    { seed: SEED },
  )
})

t.test('If-Range holds for the very same strong tag only', async (t) => {
  t.ok(ifRangeHolds(undefined, '"a"'))
  t.ok(ifRangeHolds('"a"', '"a"'))
  t.notOk(ifRangeHolds('W/"a"', '"a"'))
  t.notOk(ifRangeHolds('Wed, 21 Oct 2026 07:28:00 GMT', '"a"'))
})

t.test('the best encoding that the client takes is chosen', async (t) => {
  const ours = [{ coding: 'br' }, { coding: 'gzip' }]
  const chosen = (accepted: string | undefined) => chooseEncoding(accepted, ours)?.coding ?? null
  t.equal(chosen('gzip, deflate, br, zstd'), 'br')
  t.equal(chosen('gzip'), 'gzip')
  t.equal(chosen('br;q=0.5, gzip;q=0.9'), 'gzip')
  t.equal(chosen('br;q=0, *'), 'gzip')
  t.equal(chosen('*'), 'br')
  t.equal(chosen('identity, br;q=0.5'), null)
  t.equal(chosen('br;q=nonsense'), null)
  t.equal(chosen(''), null)
  t.equal(chosen(undefined), null)
})
