import t from 'tap'
import { cutPage } from '../../../core/http/pagination.ts'

const rows = (...ids: string[]) => ids.map((id) => ({ id }))

t.test('a page names the next one only where there is one', async (t) => {
  t.same(cutPage(rows('c', 'b', 'a'), 2), { page: rows('c', 'b'), nextCursor: 'b' })
  t.same(cutPage(rows('b', 'a'), 2), { page: rows('b', 'a'), nextCursor: null }, 'the last page may be full')
  t.same(cutPage(rows('a'), 2), { page: rows('a'), nextCursor: null })
  t.same(cutPage([], 2), { page: [], nextCursor: null })
})
