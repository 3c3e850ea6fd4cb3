/**
 * Pictures of every page of the portal, to look at: 390, 768 and 1280 wide, light and dark, as a visitor, a newcomer
 * for whom all is empty, and the host of a full yard see them, and what is missing or refused.
 *
 *   npm run screenshots -- --to FOLDER [--only TEXT] [--widths 390,1280] [--schemes light]
 */
import { mkdir } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { BROWSER } from '../test/kit/browser.ts'
import type { PlayerClient } from '../test/kit/platform.ts'
import { openShowcase, pagesOf } from '../test/kit/showcase.ts'

const { values } = parseArgs({
  options: {
    to: { type: 'string' },
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

const ends: (() => unknown)[] = []
const showcase = await openShowcase({ teardown: (end: () => unknown) => void ends.push(end) } as never, {
  portal: { designPage: true },
})
const { platform, host, newcomer } = showcase
const browser = await chromium.launch(BROWSER)
const viewers: Record<string, PlayerClient | null> = { guest: null, newcomer, host, error: host }
const pages = pagesOf(showcase)
let pictures = 0
try {
  for (const width of values.widths.split(',').map(Number)) {
    for (const colorScheme of values.schemes.split(',') as ('light' | 'dark')[]) {
      const into = join(folder, `${width}-${colorScheme}`)
      await mkdir(into, { recursive: true })
      for (const [viewer, paths] of Object.entries({ ...pages, host: [...pages.host, '/design'] })) {
        const context = await browser.newContext({
          ...{ baseURL: platform.portal, colorScheme, reducedMotion: 'reduce' },
          viewport: { width, height: width < 600 ? 844 : 900 },
        })
        const cookies = [...(viewers[viewer]?.cookiesOf() ?? [])]
        await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: platform.portal })))
        const page = await context.newPage()
        for (const path of paths.filter((path) => `${viewer} ${path}`.includes(values.only))) {
          await page.goto(path, { waitUntil: 'load' })
          await page.evaluate(() => document.fonts.ready)
          const name = `${viewer}-${path.replace(/[^\w-]+/g, '-').replace(/^-|-$/g, '') || 'home'}.png`
          await page.screenshot({ path: join(into, name), fullPage: true })
          pictures++
        }
        await context.close()
      }
    }
  }
} finally {
  await browser.close()
  for (const end of ends.reverse()) await end()
}
console.log(`${pictures} pictures in ${folder}`)
process.exit()
