import { type Content, html } from '../html.ts'

/** The colours of one scene, from the sky to the foreground. */
export interface Palette {
  sky: string
  far: string
  mid: string
  near: string
  /** The single bright accent. */
  spot: string
  /** The colour of lines and lights. */
  light: string
}

/** Returns the next random number in [0, 1). The sequence is the same for the same game. */
export type Chance = () => number

/** A scene of 160 by 120 units, and the words of a title that select it. */
interface Motif {
  words: RegExp
  draw: (palette: Palette, chance: Chance) => Content
}

const between = (chance: Chance, low: number, high: number) => Math.round((low + chance() * (high - low)) * 10) / 10
const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => make(i))

/** Draws a ridge from edge to edge through random heights, filled down to the ground. */
function ridge(chance: Chance, points: number, low: number, high: number): string {
  const step = 160 / (points - 1)
  const heights = times(points, (index) => `${Math.round(index * step)} ${between(chance, low, high)}`)
  return `M0 120L${heights.join('L')}L160 120Z`
}

/** Draws a smooth ridge: quadratic curves through the midpoints of random heights. */
function swell(chance: Chance, points: number, low: number, high: number): string {
  const step = 160 / (points - 1)
  let path = `M0 120V${between(chance, low, high)}`
  for (let index = 0; index < points - 1; index++) {
    path += `Q${Math.round((index + 0.5) * step)} ${between(chance, low - 8, high + 8)} ${Math.round((index + 1) * step)} ${between(chance, low, high)}`
  }
  return `${path}V120Z`
}

const stars = (chance: Chance, count: number, height: number, fill: string) =>
  times(
    count,
    () =>
      html`<circle cx=${between(chance, 4, 156)} cy=${between(chance, 4, height)} r=${between(chance, 0.5, 1.3)} fill=${fill} />`,
  )

const hills: Motif = {
  words: /\b(ridge|hill|mountain|climb|snow|ski|peak|summit|valley|alp)/,
  draw: (c, r) => html`
    <circle cx=${between(r, 30, 130)} cy=${between(r, 28, 48)} r=${between(r, 12, 18)} fill=${c.spot} />
    <path d=${ridge(r, 6, 38, 72)} fill=${c.far} />
    <path d=${ridge(r, 5, 58, 90)} fill=${c.mid} />
    <path d=${swell(r, 4, 88, 104)} fill=${c.near} />`,
}

const city: Motif = {
  words: /\b(city|roof|street|night|neon|town|urban|hero|cyber|robot)/,
  draw(c, r) {
    const houses = times(8, (index) => ({
      x: index * 20 + between(r, -2, 2),
      y: between(r, 42, 86),
      w: between(r, 15, 20),
    }))
    return html`
      ${stars(r, 12, 50, c.light)}
      <circle cx=${between(r, 28, 132)} cy="28" r="11" fill=${c.spot} />
      <path d=${houses.map(({ x, y, w }) => `M${x - 8} 120V${y - 14}h${w}V120Z`).join('')} fill=${c.far} />
      <path d=${houses.map(({ x, y, w }) => `M${x} 120V${y}h${w}V120Z`).join('')} fill=${c.near} />
      <path d=${houses.flatMap(({ x, y }) => times(3, (row) => (r() > 0.4 ? `M${x + 4} ${y + 7 + row * 10}h3v4h-3Z` : '') + (r() > 0.5 ? `M${x + 10} ${y + 7 + row * 10}h3v4h-3Z` : ''))).join('')} fill=${c.spot} />
      <path d="M10 62q22-38 44-12t42-6 50 4" fill="none" stroke=${c.light} stroke-width="2" stroke-linecap="round" stroke-dasharray="0.5 6" />`
  },
}

const sea: Motif = {
  words: /\b(sea|ship|boat|fish|pirate|ocean|water|island|wave|sail|river|harbou?r|sonar|submarine)/,
  draw(c, r) {
    const x = between(r, 46, 104)
    return html`
      <circle cx=${between(r, 40, 120)} cy="62" r="25" fill=${c.spot} />
      <path d=${swell(r, 5, 62, 68)} fill=${c.far} />
      <path d=${`M${x} 74V38l22 30h-18M${x - 3} 46v22h-13Z`} fill=${c.light} />
      <path d=${`M${x - 20} 72h46l-8 13h-30Z`} fill=${c.near} />
      <path d=${swell(r, 6, 80, 86)} fill=${c.mid} />
      <path d=${swell(r, 5, 98, 104)} fill=${c.near} />`
  },
}

const blocks: Motif = {
  words: /\b(block|tetr|puzzle|2048|four|match|tile|mind|stack|cube|brick|box|logic|word|number)/,
  draw(c, r) {
    const heights = times(6, () => Math.floor(1 + r() * 4))
    const fills = [c.mid, c.near, c.far, c.mid]
    const falling = Math.floor(r() * 4)
    const square = (column: number, row: number, fill: string | undefined) =>
      html`<rect x=${21 + column * 20} y=${97 - row * 20} width="18" height="18" rx="4" fill=${fill} />`
    return html`
      ${heights.map((height, column) => times(height, (row) => square(column, row, fills[Math.floor(r() * fills.length)])))}
      ${[
        [0, 0],
        [1, 0],
        [1, 1],
        [2, 1],
      ].map(
        ([x = 0, y = 0]) =>
          html`<rect x=${21 + (falling + x) * 20} y=${6 + y * 20} width="18" height="18" rx="4" fill=${c.spot} />`,
      )}`
  },
}

const orbit: Motif = {
  words: /\b(space|star|orbit|moon|galax|rocket|planet|laser|astro|alien|comet|cosm|ufo|gravity)/,
  draw(c, r) {
    const tilt = between(r, -28, 28)
    return html`
      <path d="M0 0H160V120H0Z" fill=${c.near} />
      ${stars(r, 26, 116, c.light)}
      <g transform=${`translate(${between(r, 70, 92)} 62) rotate(${tilt})`}>
        <circle r="29" fill=${c.mid} /><path d="M-28 7a29 29 0 0 0 56 0q-28 12-56 0Z" fill=${c.far} />
        <path d="M-27-11Q-50 0-46 5t46 6 46-6-19-16" fill="none" stroke=${c.spot} stroke-width="3.2" stroke-linecap="round" />
      </g>
      <circle cx=${between(r, 18, 36)} cy=${between(r, 20, 40)} r="6" fill=${c.light} />`
  },
}

const ball: Motif = {
  words: /\b(ball|pong|bounce|kick|golf|jump|pinball|hop|dunk|soccer|tennis|doodle|flap)/,
  draw(c, r) {
    const floor = between(r, 88, 98)
    const width = between(r, 30, 38)
    return html`
      <path d=${`M0 ${floor}H160V120H0Z`} fill=${c.far} />
      <rect x=${between(r, 92, 108)} y=${floor - 46} width=${width} height="46" rx="5" fill=${c.near} />
      <rect x="66" y=${floor - 22} width="30" height="22" rx="5" fill=${c.mid} />
      <path d=${`M14 ${floor - 4}Q28 ${floor - 70} 46 ${floor - 12}Q60 ${floor - 84} 84 ${floor - 36}`} fill="none" stroke=${c.light} stroke-width="2.6" stroke-linecap="round" stroke-dasharray="0.5 7" />
      <circle cx="92" cy=${floor - 56} r="14" fill=${c.spot} /><circle cx="88" cy=${floor - 61} r="3.4" fill=${c.light} opacity=".75" />`
  },
}

const track: Motif = {
  words: /\b(rac|drive|car\b|cars\b|kart|run|relay|rally|speed|turbo|moto|drift|bike|rush)/,
  draw(c, r) {
    const bend = between(r, -26, 26)
    const road = `M-10 ${98 - bend / 3}C50 ${118 + bend} 44 ${24 - bend} 92 ${34 + bend / 4}S150 ${84 + bend / 2} 172 46`
    return html`
      <path d=${swell(r, 5, 24, 44)} fill=${c.far} />
      <path d=${road} fill="none" stroke=${c.near} stroke-width="30" />
      <path d=${road} fill="none" stroke=${c.light} stroke-width="1.8" stroke-dasharray="7 8" />
      <g transform=${`translate(82 ${36 + bend / 5}) rotate(-8)`}><rect x="-13" y="-7" width="26" height="14" rx="5" fill=${c.spot} /><rect x="-4" y="-5" width="9" height="10" rx="2.5" fill=${c.near} /></g>
      <path d="M18 14v26M18 14h18v5h-18M18 24h18v-5" fill="none" stroke=${c.mid} stroke-width="3" />`
  },
}

const maze: Motif = {
  words: /\b(maze|snake|pac|labyrinth|dungeon|escape|crypt|cave|rogue|mine)/,
  draw(c, r) {
    const walls = times(8, (x) =>
      times(6, (y) => (r() > 0.5 ? `M${x * 20 + 10} ${y * 20 + 10}h20` : `M${x * 20 + 10} ${y * 20 + 10}v20`)),
    ).flat()
    return html`
      <path d=${walls.join('')} fill="none" stroke=${c.mid} stroke-width="6" stroke-linecap="round" />
      ${times(5, () => html`<circle cx=${20 * Math.ceil(r() * 7)} cy=${20 * Math.ceil(r() * 5)} r="3" fill=${c.near} />`)}
      <path d=${`M${20 * Math.ceil(r() * 6)} ${20 * Math.ceil(r() * 4)}m9-5a10 10 0 1 0 0 10l-8-5Z`} fill=${c.spot} />`
  },
}

const forest: Motif = {
  words: /\b(forest|tree|wood|garden|farm|grow|leaf|jungle|camp|wild|fox|bear|deer|animal)/,
  draw(c, r) {
    const trees = (count: number, ground: number, size: number) =>
      times(count, (index) => {
        const x = Math.round((index + 0.5) * (160 / count)) + between(r, -6, 6)
        const h = between(r, size * 0.8, size * 1.25)
        return `M${x} ${ground - h}l${h * 0.3} ${h * 0.5}h-${h * 0.1}l${h * 0.16} ${h * 0.5}h-${h * 0.72}l${h * 0.16}-${h * 0.5}h-${h * 0.1}Z`
      }).join('')
    return html`
      <circle cx=${between(r, 30, 130)} cy="34" r="16" fill=${c.spot} />
      <path d=${`${trees(9, 84, 38)}M0 82H160V120H0Z`} fill=${c.far} />
      <path d=${`${trees(6, 102, 54)}M0 100H160V120H0Z`} fill=${c.mid} />
      <path d=${`${swell(r, 4, 102, 108)}`} fill=${c.near} />`
  },
}

const cards: Motif = {
  words: /\b(card|poker|solitaire|deck|duel|chess|dice|casino|trump|tarot|rummy)/,
  draw(c, r) {
    const lean = between(r, 10, 16)
    const suits = [
      'M0-9C8-1 12 3 7 8 4 11 1 8 0 5-1 8-4 11-7 8-12 3-8-1 0-9Z',
      'M0-11 9 0 0 11-9 0Z',
      'M0 10C-14 0-10-11 0-4 10-11 14 0 0 10Z',
    ]
    const card = (turn: number, fill: string, ink: string, suit: string | undefined) => html`
      <g transform=${`rotate(${turn} 80 150)`}><rect x="57" y="26" width="46" height="66" rx="7" fill=${fill} /><path d=${suit} transform="translate(80 59)" fill=${ink} /></g>`
    return html`
      <path d=${swell(r, 4, 84, 96)} fill=${c.far} />
      ${card(-lean * 1.6, c.near, c.far, suits[0])}${card(lean * 1.6, c.mid, c.light, suits[1])}${card(r() * 6 - 3, c.light, c.spot, suits[2])}`
  },
}

const castle: Motif = {
  words: /\b(castle|knight|king|queen|dragon|quest|tower|defen|magic|wizard|sword|fort|kingdom)/,
  draw(c, r) {
    const tower = (x: number, y: number, w: number) =>
      `M${x} 120V${y}h${w / 5}v5h${w / 5}v-5h${w / 5}v5h${w / 5}v-5h${w / 5}V120Z`
    const top = between(r, 34, 46)
    return html`
      <circle cx=${between(r, 22, 50)} cy="30" r="12" fill=${c.light} />
      <path d=${ridge(r, 6, 58, 84)} fill=${c.far} />
      <path d=${tower(38, top + 24, 24) + tower(98, top + 16, 24)} fill=${c.mid} />
      <path d=${`${tower(62, top, 34)}M48 120V88h62v32Z`} fill=${c.near} />
      <path d=${`M79 ${top + 4}V${top - 18}l18 6-18 6`} fill=${c.spot} stroke=${c.near} stroke-width="1.6" />
      <path d=${`M72 120v-14a7 7 0 0 1 14 0v14ZM75 ${top + 18}h7v9h-7Z`} fill=${c.spot} />`
  },
}

export const motifs: Motif[] = [hills, city, sea, blocks, orbit, ball, track, maze, forest, cards, castle]
