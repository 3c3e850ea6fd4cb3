/**
 * Draws docs/images/architecture.svg from the imports of the code: the parts and their imports. The picture shows
 * folders, so it changes only when a part is added, removed, or begins to use another one.
 *
 *   npx node build/architecture.ts          writes the picture
 *   npx node build/architecture.ts --check  fails when the picture differs from the imports
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const root = join(import.meta.dirname, '..')
const picture = join(root, 'docs/images/architecture.svg')
/** The folders of the kernel, each above those that it may import. */
const ROOMS = ['boot', 'openapi', 'pages', 'http', 'origins', 'images', 'jobs', 'data', 'observe']

/** Returns the part of the picture to which a file belongs. */
function partOf(file: string): string {
  const [top = '', name = ''] = file.split('/')
  if (top === 'plugins' || top === 'drivers') return name.endsWith('.ts') ? top : `${top}/${name}`
  if (top === 'core') return ROOMS.includes(name) ? `core/${name}` : 'core'
  return top
}

/** Returns the parts, and for each the parts that its files import. */
function readParts(): Map<string, Set<string>> {
  const parts = new Map<string, Set<string>>()
  for (const file of globSync('{bin,config,core,drivers,plugins,clients}/**/*.ts', { cwd: root }).sort()) {
    const from = file.replaceAll('\\', '/')
    const imported = parts.get(partOf(from)) ?? new Set<string>()
    parts.set(partOf(from), imported)
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const to = partOf(posix.join(posix.dirname(from), specifier))
      if (to !== partOf(from)) imported.add(to)
    }
  }
  return parts
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

const parts = readParts()
const names = [...parts.keys()]
const plugins = names.filter((name) => name.startsWith('plugins/'))
const families = names.filter((name) => name.startsWith('drivers/'))

/** Returns the imports of a part within its group without transitive ones: for a → b → c it omits a → c. */
function direct(name: string, group: readonly string[]): string[] {
  const reaches = (from: string, to: string): boolean =>
    group.some((next) => parts.get(from)?.has(next) && (next === to || reaches(next, to)))
  const all = group.filter((other) => parts.get(name)?.has(other))
  return all.filter((to) => !all.some((between) => between !== to && reaches(between, to)))
}

const levelOf = (name: string): number => Math.max(-1, ...direct(name, plugins).map(levelOf)) + 1

const boxes = new Map<string, Box>([
  ['bin', { x: 300, y: 20, width: 600, height: 50 }],
  ['clients', { x: 980, y: 20, width: 200, height: 50 }],
  ['config', { x: 20, y: 20, width: 200, height: 50 }],
])
const levels = Math.max(...plugins.map(levelOf)) + 1
const groupHeight = levels * 76 + 34
const groups: Record<string, Box> = {
  plugins: { x: 20, y: 120, width: 920, height: groupHeight },
  drivers: { x: 980, y: 120, width: 200, height: groupHeight },
  core: { x: 20, y: 180 + groupHeight, width: 1160, height: 210 },
}
for (let level = 0; level < levels; level++) {
  const row = plugins.filter((name) => levelOf(name) === level)
  const step = 900 / row.length
  const y = 120 + groupHeight - 60 - level * 76
  row.forEach((name, at) => {
    boxes.set(name, { x: 30 + step * at + (step - 118) / 2, y, width: 118, height: 36 })
  })
}
families.forEach((name, at) => {
  boxes.set(name, { x: 1000, y: 156 + at * ((groupHeight - 44) / families.length), width: 160, height: 32 })
})
const coreY = groups.core?.y ?? 0
ROOMS.forEach((room, at) => {
  boxes.set(`core/${room}`, { x: 40 + at * 142, y: coreY + 40, width: 118, height: 36 })
})
boxes.set('core', { x: 320, y: coreY + 160, width: 560, height: 36 })

const line = (d: string, kind = '') => `<path class="edge ${kind}" d="${d}" marker-end="url(#arrow)"/>`
const center = ({ x, width }: Box) => x + width / 2
const round = (value: number) => Math.round(value * 10) / 10

/** Draws an arrow from the lower edge of a box to the upper edge of one below it. */
function down(from: Box, to: Box, kind = ''): string {
  const [x1, y1, x2, y2] = [center(from), from.y + from.height, center(to), to.y - 3].map(round) as [
    number,
    number,
    number,
    number,
  ]
  const bend = round((y2 - y1) / 2)
  return line(`M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`, kind)
}

const edges: string[] = []
for (const from of plugins) {
  for (const to of direct(from, plugins)) edges.push(down(boxes.get(from) as Box, boxes.get(to) as Box))
}
const rooms = ROOMS.map((room) => `core/${room}`)
for (const from of rooms) {
  for (const to of rooms.filter((other) => parts.get(from)?.has(other))) {
    const [a, b] = [boxes.get(from) as Box, boxes.get(to) as Box]
    const [x1, x2, y] = [center(a) + 10, center(b) - 10, a.y + a.height]
    const depth = 12 + (rooms.indexOf(to) - rooms.indexOf(from)) * 11
    edges.push(line(`M${x1} ${y}C${x1} ${y + depth} ${x2} ${y + depth} ${x2} ${y + 3}`))
  }
}

/** Combines all imports between two groups into one arrow. */
const groupOf = (name: string) => name.split('/')[0] as string
const between = new Set(
  names.flatMap((from) =>
    [...(parts.get(from) ?? [])]
      .map((to) => `${groupOf(from)} ${groupOf(to)}`)
      .filter((edge) => {
        const [a, b] = edge.split(' ')
        return a !== b
      }),
  ),
)
const boxOf = (name: string) => (groups[name] ?? boxes.get(name)) as Box
for (const edge of [...between].sort()) {
  const [from = '', to = ''] = edge.split(' ')
  const [a, b] = [boxOf(from), boxOf(to)]
  if (a.y === b.y) {
    const [x1, x2] = a.x < b.x ? [a.x + a.width, b.x - 3] : [a.x, b.x + b.width + 3]
    const y = a.y + Math.min(a.height, b.height) / 2
    edges.push(line(`M${x1} ${y}H${x2}`, 'group'))
  } else {
    // An arrow goes straight down where the boxes overlap. The lanes separate the arrows to the core.
    const lane = { bin: -20, config: 0, plugins: 0, drivers: 0 }[from] ?? 0
    const left = Math.max(a.x, b.x)
    const right = Math.min(a.x + a.width, b.x + b.width)
    const x = from === 'bin' && to === 'core' ? 960 : (left + right) / 2 + lane
    if (from === 'bin' && to === 'core') {
      edges.push(line(`M880 70V96H${x}V${b.y - 3}`, 'group'))
    } else if (from === 'bin' && to === 'drivers') {
      edges.push(line(`M860 70V104H1080V${b.y - 3}`, 'group'))
    } else if (from === 'config' && to === 'core') {
      edges.push(line(`M28 70V96H10V${b.y + 30}H17`, 'group'))
    } else edges.push(line(`M${x} ${a.y + a.height}V${b.y - 3}`, 'group'))
  }
}

const label = (name: string) =>
  name === 'core' ? 'clock  config  driver  errors  events  ids  plugin  kernel' : name.split('/').at(-1)
const drawn = [
  ...Object.entries(groups).map(
    ([name, { x, y, width, height }]) =>
      `<rect class="area" x="${x}" y="${y}" width="${width}" height="${height}" rx="12"/><text class="title" x="${x + 14}" y="${y + 24}">${name}/</text>`,
  ),
  ...edges,
  ...[...boxes].map(([name, { x, y, width, height }]) => {
    const [left, middle] = [round(x), round(x + width / 2)]
    return `<rect class="box" x="${left}" y="${round(y)}" width="${width}" height="${height}" rx="8"/><text x="${middle}" y="${round(y + height / 2 + 5)}">${label(name)}${boxes.has(name) && !name.includes('/') && name !== 'core' ? '/' : ''}</text>`
  }),
]
const height = coreY + 230
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 ${height}" role="img" aria-labelledby="t">
<title id="t">The parts of Gameyard, and which imports which</title>
<style>
text{font:15px ui-sans-serif,system-ui,sans-serif;text-anchor:middle;fill:#1d1b16}
.title{text-anchor:start;font-weight:600}
.page{fill:#faf7f1}.area{fill:#f1ece1;stroke:#d8d0bf}.box{fill:#fff;stroke:#8a8271}
.edge{fill:none;stroke:#b3a98f;stroke-width:1.5}.group{stroke:#c2410c;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#f1eee7}.page{fill:#14161b}.area{fill:#1c1f26;stroke:#343944}
.box{fill:#262a33;stroke:#6f7787}.edge{stroke:#596172}.group{stroke:#ff8a4c}}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>
<rect class="page" width="1200" height="${height}"/>
${drawn.join('\n')}
</svg>
`

if (process.argv.includes('--check')) {
  if (readFileSync(picture, 'utf8') !== svg) {
    console.error('docs/images/architecture.svg is not what the imports say; run `npm run architecture`.')
    process.exitCode = 1
  }
} else writeFileSync(picture, svg)
