import t from 'tap'
import { termsOfQuery, termsOfText } from '../../../core/data/search-terms.ts'

const finds = (query: string, text: string) => {
  const terms = new Set(termsOfText(text))
  return termsOfQuery(query).every((term) => terms.has(term))
}

t.test('a word is found by its beginning, with its letters and with plain ones', async (t) => {
  for (const [query, text] of [
    ['relay', 'Pokémon Relay'],
    ['POKEMON', 'Pokémon Relay'],
    ['łódka', 'Łódka'],
    ['lodka', 'Łódka'],
    ['zolw', 'Żółw i zając'],
    ['strasse', 'Straße der Zeit'],
    ['straße', 'STRASSE'.replace('SS', 'ß')],
    ['ilik', 'Isparta ılık'],
    ['istanbul', 'İstanbul'],
    ['ore', 'Øre'],
    ['東', '東京 レース'],
  ] as const)
    t.ok(finds(query, text), `${query} in ${text}`)
  t.notOk(finds('elay', 'Pokémon Relay'))
  t.same(termsOfQuery('  '), [])
})
