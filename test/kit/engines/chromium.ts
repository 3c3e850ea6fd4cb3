import type { BrowserContext, ElementHandle, Page } from 'playwright-core'
import type { Test } from 'tap'
import { complaintsOf, openBrowser, SOFTWARE_GRAPHICS } from '../browser.ts'
import { timeLimit } from '../time-limit.ts'
import {
  type Driver,
  type DriverContext,
  type DriverOptions,
  type DriverPage,
  WHOLE_PAGE,
  wholePage,
} from './driver.ts'
import { DIRECT } from './recording.ts'
import { wrapFrames, wrapPages } from './wrap.ts'

/** Starts Chromium through its debugging protocol, with Playwright. Returns null when it is not installed. */
export async function startChromium(
  t: Test,
  { names, graphics = false, chromiumFlags = [] }: DriverOptions,
): Promise<Driver | null> {
  const browser = await openBrowser(t, [...(graphics ? [SOFTWARE_GRAPHICS] : []), ...chromiumFlags])
  if (!browser) return null
  const proxy = { server: `http://127.0.0.1:${await names.startProxy()}`, bypass: DIRECT }
  return {
    async newContext({ width, height, colorScheme, cookies }) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme,
        reducedMotion: 'reduce',
        ignoreHTTPSErrors: true,
        proxy,
      })
      await context.addCookies(cookies.map((cookie) => ({ ...cookie, sameSite: 'Lax' })))
      return contextOf(context)
    },
    // Other tests share the browser; the contexts end with the test.
    close: async () => {},
  }
}

function contextOf(context: BrowserContext): DriverContext {
  const driverPage = wrapPages(pageOf)
  context.on('page', driverPage)
  return {
    newPage: async () => driverPage(await context.newPage()),
    pages: async () => context.pages().map(driverPage),
    close: () => context.close(),
  }
}

const pageOf = (page: Page): DriverPage => ({
  ...frameOf(page.mainFrame()),
  id: page,
  complaints: complaintsOf(page),
  goto: async (url) => void (await page.goto(url)),
  url: async () => page.url(),
  press: (key) => page.keyboard.press(key),
  resize: (width, height) => page.setViewportSize({ width, height }),
  async screenshot(fullPage) {
    if (!fullPage) return page.screenshot()
    const size = await page.evaluate<[number, number]>(WHOLE_PAGE)
    return page.screenshot({ fullPage, clip: wholePage(size), timeout: timeLimit(120) })
  },
  close: () => page.close(),
})

const frameOf = wrapFrames((element: ElementHandle<HTMLElement>, path: string) => element.setInputFiles(path))
