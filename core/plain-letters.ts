/** Letters that Unicode does not decompose, as people write them who lack them on the keyboard. */
const PLAIN = new Map([
  ['ł', 'l'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['ħ', 'h'],
  ['ı', 'i'],
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['þ', 'th'],
])
const OTHERS = new RegExp(`[${[...PLAIN.keys()].join('')}]`, 'g')

/** Returns a text in small letters without accents and compatibility forms: "Łódź" is "lodz". */
export const plainLetters = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(OTHERS, (letter) => PLAIN.get(letter) ?? letter)
