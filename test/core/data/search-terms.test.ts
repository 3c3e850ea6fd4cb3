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
    ['森', 'ゲームの森'],
    ['の森', 'ゲームの森'],
    ['ゲー', 'ﾄﾞｯﾄゲーム'],
    ['世界', '我的世界'],
    ['ผจญ', 'เกมผจญภัย'],
    ['مغامرة', 'المغامرة'],
    ['المغامرة', 'المغامرة'],
  ] as const)
    t.ok(finds(query, text), `${query} in ${text}`)
  t.notOk(finds('elay', 'Pokémon Relay'))
  t.notOk(finds('森林', 'ゲームの森'))
  t.ok(termsOfText('一二三四五六七八九十'.repeat(12)).length < 600, 'a long title has a bounded number of terms')
  t.same(termsOfQuery('  '), [])
})
