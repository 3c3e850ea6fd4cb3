import fc from 'fast-check'
import t from 'tap'
import { isReserved, slugFrom } from '../../../plugins/games/addresses/slugs.ts'
import { anyText } from '../../kit/any-text.ts'
import { SEED } from '../../kit/seed.ts'

t.test('a title makes a slug', async (t) => {
  const cases: [string, string][] = [
    ['Rooftop Relay', 'rooftop-relay'],
    ['  Ball & Block!  ', 'ball-block'],
    ['Pokémon Ünïcødé', 'pokemon-unicode'],
    ['Żółw i Łódka', 'zolw-i-lodka'],
    ['Straße İstanbul ılık Æon', 'strasse-istanbul-ilik-aeon'],
    ["Don't Stop", 'dont-stop'],
    ['a -- b', 'a-b'],
    ['2048', '2048'],
    ['ﬁne ½', 'fine-1-2'],
    ['AT&T 3.5 a_b C++', 'at-t-3-5-a-b-c'],
    ['Ｆｕｌｌ', 'full'],
    ['Привет, мир', 'privet-mir'],
    ['Стрельба', 'strelba'],
    ['Ελληνικά παιχνίδια', 'ellinika-paichnidia'],
    ['ドット・アドベンチャー', 'dotto-adobenchiya'],
    ['ｹﾞｰﾑ', 'gemu'],
    ['我的世界', 'wode-shijie'],
    ['한국 게임', 'hangug-geim'],
    ['हिन्दी खेल', 'hindi-khel'],
    ['Админ', 'admin-game'],
    ['🎮', 'game'],
    ['---', 'game'],
    ['www', 'www-game'],
    ['Admin', 'admin-game'],
    ['4dm1n', '4dm1n-game'],
    ['P0rtal', 'p0rtal-game'],
    ['xn--80ak6aa92e', 'xn-80ak6aa92e'],
  ]
  for (const [title, slug] of cases) t.equal(slugFrom(title), slug, title)
})

t.test('whatever the title, its slug is one DNS label with room for a number and a preview', async (t) => {
  fc.assert(
    fc.property(fc.oneof(anyText({ maxLength: 120 }), fc.string({ maxLength: 120 })), (title) => {
      const slug = slugFrom(title)
      return /^[a-z0-9](?:[a-z0-9]|-(?!-))*(?<!-)$/.test(slug) && slug.length <= 50 && !isReserved(slug)
    }),
    { seed: SEED },
  )
  t.equal(slugFrom('word '.repeat(24)).length <= 44, true)
})

t.test('names of the platform and their look-alikes are reserved', async (t) => {
  for (const slug of [
    'www',
    'api',
    'admin',
    'studio',
    'portal',
    'mail',
    'assets',
    'static',
    'auth',
    'mp',
    'adm1n',
    '4uth',
    'w-w-w',
  ])
    t.ok(isReserved(slug), slug)
  for (const slug of ['pong', 'rooftop-relay', 'administrate', 'playground']) t.notOk(isReserved(slug), slug)
})
