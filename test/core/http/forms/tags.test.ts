import t from 'tap'
import { tagsIn } from '../../../../core/http/forms/tags.ts'

t.test('tags are what people type, in small plain letters', async (t) => {
  t.same(tagsIn(' Puzzle, Co-op  2D,puzzle\n#Jam '), ['puzzle', 'co-op', '2d', 'jam'])
  t.same(tagsIn('Łódź Straße'), ['lodz', 'strasse'])
  t.same(tagsIn('パズル a&b'), ['パズル', 'a&b'], 'what can be no tag is for the schema to refuse')
  t.same(tagsIn(' , '), [])
})
