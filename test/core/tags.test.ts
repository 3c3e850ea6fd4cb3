import { Ajv } from 'ajv'
import t from 'tap'
import { storedTags, Tag, tagOf, tagsIn } from '../../core/tags.ts'

t.test('tags are what people type, in small letters, and plain ones in Latin', async (t) => {
  t.same(tagsIn(' Puzzle, Co-op  2D,puzzle\n#Jam '), ['puzzle', 'co-op', '2d', 'jam'])
  t.same(tagsIn('Łódź Straße'), ['lodz', 'strasse'])
  t.same(
    tagsIn('パズル、ガーデン，Головоломка'),
    ['パズル', 'ガーデン', 'головоломка'],
    'other scripts keep their letters',
  )
  t.same(tagsIn('ＲＰＧ ﾊﾟｽﾞﾙ'), ['rpg', 'パズル'], 'in one width')
  t.same(tagsIn('ปริศนา पहेली لغز'), ['ปริศนา', 'पहेली', 'لغز'], 'with the marks of their vowels')
  t.same(tagsIn('a&b ½ a_b 🎮'), ['a&b', '½', 'a_b', '🎮'], 'what can be no tag is for the schema to refuse')
  t.same(tagsIn(' , '), [])
})

t.test('a tag is stored in one form', async (t) => {
  t.same(storedTags(['RPG', 'rpg', 'Łódź', 'Паззл', 'паззл']), ['rpg', 'lodz', 'паззл'])
  t.equal(tagOf('パ'), 'パ', 'composed')
  t.equal(tagOf('pu\u200bzzle'), 'puzzle', 'without what nobody sees')
  const check = new Ajv({ strict: false }).compile(Tag)
  // These are letters, marks or numbers, so the schema takes them.
  for (const word of ['½', '\u3164', '\u0301', '\ufdfa'.repeat(3)]) {
    t.ok(check(word), JSON.stringify(word))
    t.throws(() => storedTags(['puzzle', word]), /is no tag/, JSON.stringify(word))
  }
  for (const word of ['', 'a b', 'a/b', 'a_b', '\u202eabc', 'x'.repeat(31), '🎮'])
    t.notOk(check(word), JSON.stringify(word))
})
