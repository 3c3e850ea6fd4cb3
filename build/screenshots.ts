/**
 * Takes screenshots of every page of the portal: 390, 768 and 1280 wide, light and dark. They show the pages as a
 * visitor, a new player without data and the host of a platform with data see them; missing and refused pages; a first
 * start and an empty platform, with sign-up links and the answers to their forms; and a game jam in the LAN mode
 * before, during and after the vote.
 *
 *   npm run screenshots -- --to FOLDER [--engine firefox] [--only TEXT] [--widths 390,1280] [--schemes light]
 */
import { mkdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { openArrivals, openFirstStart } from '../test/kit/arrival-showcase.ts'
import { ENGINES, type EngineName, openEngine } from '../test/kit/engines/engine.ts'
import { cookiesOf, openTarget } from '../test/kit/engines/pages.ts'
import { jamPagesOf, openJamShowcase } from '../test/kit/jam-showcase.ts'
import type { Client, Platform } from '../test/kit/platform.ts'
import { DESIGN_PAGES, openShowcase, pagesOf } from '../test/kit/showcase.ts'
import { nameOf, type Target } from '../test/kit/targets.ts'

const { values } = parseArgs({
  options: {
    to: { type: 'string' },
    engine: { type: 'string', default: 'chromium' },
    only: { type: 'string', default: '' },
    widths: { type: 'string', default: '390,768,1280' },
    schemes: { type: 'string', default: 'light,dark' },
  },
})
const root = resolve(import.meta.dirname, '..')
const folder = resolve(values.to ?? root)
if (!relative(root, folder).startsWith('..')) {
  console.error('Name a folder outside of the project: npm run screenshots -- --to FOLDER')
  process.exit(1)
}

if (!ENGINES.includes(values.engine as EngineName)) {
  console.error(`There is no engine "${values.engine}": it is one of ${ENGINES.join(', ')}.`)
  process.exit(1)
}

type Scheme = 'light' | 'dark'

interface Scene {
  /** The prefix of its pictures' names. */
  name: string
  platform: Platform
  viewers: Record<string, Client | null>
  pages: Record<string, Target[]>
}

const ends: (() => unknown)[] = []
const t = {
  teardown: (end: () => unknown) => void ends.push(end),
  fail: (message: string) => console.error(message),
  pass: (message: string) => console.error(message),
} as never
const scenes: Scene[] = []
{
  const showcase = await openShowcase(t)
  const { platform, host, newcomer } = showcase
  const viewers = { guest: null, newcomer, host, error: host }
  const pages = pagesOf(showcase)
  scenes.push({ name: '', platform, viewers, pages: { ...pages, host: [...pages.host, ...DESIGN_PAGES] } })
}
scenes.push({ name: 'first-', ...(await openFirstStart(t)) }, { name: 'arrivals-', ...(await openArrivals(t)) })
for (const stage of ['begun', 'voting', 'results'] as const) {
  const { platform, ...viewers } = await openJamShowcase(t, stage)
  scenes.push({ name: `jam-${stage}-`, platform, viewers: { stranger: null, ...viewers }, pages: jamPagesOf(stage) })
}

const engine = await openEngine(t, values.engine as EngineName, { graphics: true })
let pictures = 0

/** Takes all pictures of one viewer at one size. */
async function take({ name, platform, viewers, pages }: Scene, viewer: string, width: number, colorScheme: Scheme) {
  const targets = (pages[viewer] ?? []).filter((one) => `${name}${viewer} ${nameOf(one)}`.includes(values.only))
  if (!engine || targets.length === 0) return
  const into = join(folder, `${width}-${colorScheme}`)
  await mkdir(into, { recursive: true })
  const context = await engine.newContext({
    base: platform.portal,
    cookies: cookiesOf(platform, viewers[viewer] ?? null),
    colorScheme,
    width,
    height: width < 600 ? 844 : 900,
  })
  const page = await context.newPage()
  for (const target of targets) {
    await openTarget(page, target)
    const title =
      nameOf(target)
        .replace(/[^\w-]+/g, '-')
        .replace(/^-|-$/g, '') || 'home'
    await page.screenshot(join(into, `${name}${viewer}-${title.slice(0, 80)}.png`))
    pictures++
  }
  await context.close()
}

try {
  for (const width of values.widths.split(',').map(Number))
    for (const colorScheme of values.schemes.split(',') as Scheme[])
      for (const scene of scenes)
        for (const viewer of Object.keys(scene.pages)) await take(scene, viewer, width, colorScheme)
} finally {
  for (const end of ends.reverse()) await end()
}
console.log(`${pictures} pictures in ${folder}`)
process.exit(engine ? 0 : 1)
