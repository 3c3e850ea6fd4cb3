import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core'
import type { Test } from 'tap'
import { expectNoAxeViolations, expectNoOverflow, openPage } from './browser.ts'
import type { Client, Platform } from './platform.ts'
import { nameOf, openTarget, type Target } from './targets.ts'

/** The maximum bytes of scripts in a page, without viewers and editors, which load later. */
const BUDGET = 60_000
/**
 * Matches expected messages: refused, missing or gone pages, and warnings of the software renderer or of a viewer on a
 * busy machine.
 */
const EXPECTED = /status of (404|403|400|410|451)|GPU stall due to ReadPixels|rAF timed out/

/** The widths at which every page is checked. */
export const VIEWS = {
  phone: { width: 390, colorScheme: 'dark', bothSchemes: true },
  tablet: { width: 768, colorScheme: 'light', bothSchemes: true },
  laptop: { width: 1280, colorScheme: 'light', bothSchemes: true },
} as const

export type View = (typeof VIEWS)[keyof typeof VIEWS]

/** A layout shift and its amount. */
interface Shift {
  value: number
  of: string[]
}

export interface PageCheck {
  platform: Platform
  /** The signed-in player; null for a visitor. */
  player: Client | null
  /** The viewer's name in reports. */
  viewer: string
  targets: readonly Target[]
  width: number
  colorScheme: 'light' | 'dark'
  /** Also checks the colours of the other scheme in the same page, because nothing else depends on the scheme. */
  bothSchemes?: boolean
}

/** The axe-core rules about colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/**
 * Opens pages one after another as one viewer, and checks each: axe-core, one title, no overflow or layout shift,
 * little script, no browser error; on a phone also with longer labels.
 */
export async function checkPages(t: Test, browser: Browser, check: PageCheck): Promise<void> {
  const { platform, player, viewer, targets, width, colorScheme, bothSchemes = false } = check
  const other = colorScheme === 'dark' ? 'light' : 'dark'
  const { page, context, complaints } = await signedIn(browser, platform.portal, player, {
    colorScheme,
    viewport: { width, height: width === 390 ? 844 : 900 },
    // The LAN mode uses a self-signed certificate.
    ignoreHTTPSErrors: true,
  })
  for (const target of targets) {
    const name = `${viewer} ${nameOf(target)} ${width} ${colorScheme}`
    let script = 0
    const weigh = page.waitForLoadState('load')
    page.on('requestfinished', weighing)
    async function weighing(request: Request) {
      if (request.resourceType() !== 'script' || !request.url().startsWith(platform.portal)) return
      if (/\/(chart|model-viewer|meshopt-decoder|script-editor|text-editor)\./.test(request.url())) return
      script += (await request.sizes()).responseBodySize
    }
    const earlier = complaints.length
    const status = await openTarget(page, target)
    await weigh
    if (typeof target !== 'string') {
      t.equal(status, target.status, `${name}: ${status}`)
      // Browsers log an error for every refusal, including this expected one.
      const others = complaints.splice(earlier).filter((text) => !text.includes(`status of ${status}`))
      complaints.push(...others)
    }
    await page.evaluate(() => document.fonts.ready)
    page.off('requestfinished', weighing)
    t.ok(script < BUDGET, `${name}: ${script} bytes of script`)
    await expectNoAxeViolations(t, page, `${name}: axe-core finds nothing`)
    if (bothSchemes) {
      await page.emulateMedia({ colorScheme: other })
      await expectNoAxeViolations(t, page, `${name}: nor in ${other}`, COLOUR_RULES)
      await page.emulateMedia({ colorScheme })
    }
    await expectNoOverflow(t, page, `${name}: nothing sticks out`)
    t.equal(await page.locator('h1').count(), 1, `${name}: one title`)
    const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts)
    const shift = shifts.reduce((sum, { value }) => sum + value, 0)
    t.ok(shift < 0.01, `${name}: shifts by ${shift}`, { shifts })
    if (width !== 390) continue
    await lengthen(page)
    await expectNoOverflow(t, page, `${name}: nor with longer labels and names that run the other way`)
  }
  t.same(
    complaints.filter((text) => !EXPECTED.test(text)),
    [],
    `${viewer} ${width}: no complaints`,
  )
  await context.close()
}

/** Opens a page in a player's browser, and records its layout shifts. */
export async function signedIn(
  browser: Browser,
  portal: string,
  player: Client | null,
  options: BrowserContextOptions,
) {
  const watched = await openPage(browser, { baseURL: portal, ...options })
  const cookies = [...(player?.cookiesOf() ?? [])]
  await watched.context.addCookies(cookies.map(([name, value]) => ({ name, value, url: portal })))
  await watched.page.addInitScript(() => {
    const shifts: Shift[] = []
    Object.assign(window, { shifts })
    type Entry = { value: number; sources: { node: Node | null }[] }
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as Entry[]) {
        const of = entry.sources.map(({ node }) => `${node?.nodeName}.${(node as Element | null)?.className ?? ''}`)
        shifts.push({ value: entry.value, of })
      }
    }).observe({ type: 'layout-shift', buffered: true })
  })
  return watched
}

/** Makes every label a third longer, with tall and deep letters, and gives it right-to-left names. */
const lengthen = (page: Page) =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts: Text[] = []
    while (walker.nextNode()) texts.push(walker.currentNode as Text)
    for (const text of texts) {
      if (text.parentElement?.closest('pre, code, script, style, time, .copy-value, svg') || !text.data.trim()) continue
      const inName = text.parentElement?.closest('bdi, [dir=auto]')
      text.data = inName
        ? 'عبد الرحمن الخوارزمي'
        : text.data.replace(/[A-Za-z]{3,}/g, (word) => `${word}${'ŷğ'.repeat(Math.ceil(word.length / 6))}`)
    }
  })
