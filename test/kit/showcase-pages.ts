import type { Test } from 'tap'
import { openBrowser, SOFTWARE_GRAPHICS } from './browser.ts'
import { checkPages, type View } from './portal-pages.ts'
import { DESIGN_PAGES, openShowcase, pagesOf } from './showcase.ts'

/**
 * Checks every page of a platform in use, for every viewer. Each width has a test file of its own, because all three
 * take half an hour on a slow machine.
 */
export async function checkShowcase(t: Test, view: View): Promise<void> {
  const browser = await openBrowser(t, [SOFTWARE_GRAPHICS])
  if (!browser) return
  const showcase = await openShowcase(t)
  const { platform, host, newcomer } = showcase
  const viewers = { guest: null, newcomer, host, error: host }
  const pages = pagesOf(showcase)
  pages.host.push(...DESIGN_PAGES)
  for (const [viewer, targets] of Object.entries(pages) as [keyof typeof viewers, string[]][])
    await checkPages(t, browser, { ...view, platform, player: viewers[viewer], viewer, targets })
}
