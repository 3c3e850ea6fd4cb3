import { createHash } from 'node:crypto'

const PALETTES = [
  ['#f3d9b1', '#c2410c', '#fff4de'],
  ['#c8e6df', '#0f766e', '#f6fcfa'],
  ['#d9d3f2', '#6656bf', '#f8f5ff'],
  ['#f7d6cf', '#bf5167', '#fff4ef'],
  ['#cfe0f4', '#3a6ea5', '#f7fbff'],
  ['#ebe8b9', '#6b7f33', '#fefdf0'],
  ['#2c3140', '#ef8f45', '#fff4de'],
  ['#0f4442', '#f2b632', '#fff8e6'],
] as const

const BODIES = [
  'M48 112V60a32 32 0 0 1 64 0v52z',
  'M80 34c26 0 40 20 40 46v32H40V80c0-26 14-46 40-46z',
  'M44 112 50 52q30-28 60 0l6 60z',
  'M38 112c0-46 10-76 42-76s42 30 42 76z',
]
const TOPS = ['M80 36V20m0-4a5 5 0 1 0 .1 0', 'M58 46 48 24m54 22 10-22', 'M64 36q16-24 32 0', 'M80 36q-4-14 8-20', '']
const MOUTHS = ['M68 84q12 12 24 0', 'M70 86h20', 'M70 82q10 16 20 0z', 'M74 88q6-8 12 0']

/**
 * Draws the default avatar from the player's id: a face above a fence. The same id always gives the same picture, and
 * the id can't be read from it.
 */
export function drawnAvatar(playerId: string): string {
  const bytes = createHash('sha256').update(playerId).digest()
  const pick = <Item>(items: readonly Item[], at: number) => items[(bytes[at] as number) % items.length] as Item
  const [back, skin, light] = pick(PALETTES, 0)
  const gap = 10 + ((bytes[4] as number) % 8)
  const size = 6 + ((bytes[5] as number) % 4)
  const glance = ((bytes[6] as number) % 5) - 2
  const eye = (x: number) =>
    `<circle cx="${x}" cy="66" r="${size}" fill="${light}"/><circle cx="${x + glance}" cy="67" r="${size / 2}" fill="#14161b"/>`
  const boards = [0, 1, 2, 3, 4]
    .map(
      (board) =>
        `<path d="M${board * 32 + 2} 160V112l14-10 14 10v48z" fill="${light}" stroke="${back}" stroke-width="2"/>`,
    )
    .join('')
  const top = pick(TOPS, 2)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 160" width="256" height="256"><rect width="160" height="160" fill="${back}"/>${
    top && `<path d="${top}" fill="none" stroke="${skin}" stroke-width="7" stroke-linecap="round"/>`
  }<path d="${pick(BODIES, 1)}" fill="${skin}"/>${eye(80 - gap)}${eye(80 + gap)}<path d="${pick(MOUTHS, 3)}" fill="none" stroke="${light}" stroke-width="5" stroke-linecap="round" stroke-linejoin="round"/>${boards}</svg>`
}
