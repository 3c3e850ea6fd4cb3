import { renderToString } from 'preact-render-to-string'
import { html, type View } from '../html.ts'
import { type Chance, motifs, type Palette } from './motifs.ts'

const palettes: Palette[] = [
  { sky: '#f3d9b1', far: '#ecb97e', mid: '#d3703a', near: '#742a13', spot: '#c2410c', light: '#fff4de' },
  { sky: '#c8e6df', far: '#8fc9bc', mid: '#2b9184', near: '#0b4a45', spot: '#ef8f45', light: '#f6fcfa' },
  { sky: '#d9d3f2', far: '#b3a8e2', mid: '#6656bf', near: '#2f2669', spot: '#f0813f', light: '#f8f5ff' },
  { sky: '#23262e', far: '#323845', mid: '#46506a', near: '#14161b', spot: '#ff8a4c', light: '#6fe0c6' },
  { sky: '#0f4442', far: '#18605a', mid: '#2a8a7b', near: '#072624', spot: '#f5ab62', light: '#ffe0bd' },
  { sky: '#f7d6cf', far: '#eaa79b', mid: '#bf5167', near: '#5a1934', spot: '#e8a92c', light: '#fff4ef' },
  { sky: '#cfe0f4', far: '#9fc0e6', mid: '#437ab9', near: '#163a67', spot: '#f2b632', light: '#f7fbff' },
  { sky: '#3a1526', far: '#5f2140', mid: '#a5374b', near: '#1d0a14', spot: '#ffa05e', light: '#ffdcb8' },
  { sky: '#ebe8b9', far: '#c7cd7d', mid: '#7b923d', near: '#33451b', spot: '#c9501a', light: '#fefdf0' },
]

/**
 * Draws a game's cover (4:3): a motif that matches words of the title, otherwise a random one, in one of the palettes.
 * The same id and title always produce the same image. The cover is decorative and hidden from screen readers.
 */
export function coverFor(id: string, title: string): View {
  const chance = chanceFrom(id)
  const palette = pick(palettes, chance)
  const words = title.toLowerCase()
  const fallback = pick(motifs, chance)
  const { draw } = motifs.find((motif) => motif.words.test(words)) ?? fallback
  return html`<svg viewBox="0 0 160 120" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false"><rect width="160" height="120" fill=${palette.sky} />${draw(palette, chance)}</svg>`
}

const drawn = new Map<string, string>()
const keptDrawings = 1000

/**
 * Returns the same cover as text: a file of its own (`image/svg+xml`), or markup for a page. The covers of the last
 * thousand games are cached, since a catalog shows them repeatedly.
 */
export function coverSvg(id: string, title: string): string {
  const key = `${id} ${title}`
  const known = drawn.get(key)
  if (known) return known
  const svg = renderToString(coverFor(id, title)).replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
  if (drawn.size >= keptDrawings) drawn.delete(drawn.keys().next().value ?? '')
  drawn.set(key, svg)
  return svg
}

const pick = <Item>(items: Item[], chance: Chance): Item => items[Math.floor(chance() * items.length)] as Item

/** Creates a random source: FNV-1a for the seed, then mulberry32. Both are short, and the same on every machine. */
function chanceFrom(text: string): Chance {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index++) state = Math.imul(state ^ text.charCodeAt(index), 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
