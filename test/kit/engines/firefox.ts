import type { BrowserContext, ElementHandle, Frame, Page } from 'puppeteer-core'
import { isExternal } from '../browser.ts'
import { timeLimit } from '../time-limit.ts'
import { endWithThisProcess } from '../watchdog.ts'
import { startDisplay } from './display.ts'
import {
  type ContextOptions,
  type Driver,
  type DriverContext,
  type DriverOptions,
  type DriverPage,
  WHOLE_PAGE,
  wholePage,
} from './driver.ts'
import { DIRECT } from './recording.ts'
import { wrapFrames, wrapPages } from './wrap.ts'

const executablePath = '/usr/bin/firefox-esr'

/** What Firefox says of a response that was being read when its page was left. A request that fails otherwise is reported. */
const LEFT_STREAM = /^Error: Failed to read data from the ReadableStream: .TypeError: Error in input stream/

type Scheme = ContextOptions['colorScheme']

/** Starts Firefox through WebDriver BiDi, with Puppeteer. A distribution's Firefox supports no other protocol. */
export async function startFirefox({ names, graphics = false, firefoxPreferences }: DriverOptions): Promise<Driver> {
  // The import is dynamic, because the package is large and most tests do not need it.
  const { default: puppeteer } = await import('puppeteer-core')
  const proxyPort = await names.startProxy()
  // Firefox renders 3D only with a display.
  const display = graphics ? await startDisplay() : null
  const launch = async (colorScheme: Scheme) => {
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath,
      headless: !display,
      acceptInsecureCerts: true,
      defaultViewport: null,
      timeout: timeLimit(120),
      protocolTimeout: timeLimit(180),
      ...(display ? { env: { ...process.env, DISPLAY: display.name } } : {}),
      extraPrefsFirefox: {
        ...preferences(proxyPort, colorScheme),
        'webgl.force-enabled': graphics,
        ...firefoxPreferences,
      },
    })
    const { pid } = browser.process() ?? {}
    const ended = pid ? endWithThisProcess(pid) : () => {}
    return { browser, close: () => browser.close().finally(ended) }
  }
  // The colour scheme is a preference of the whole browser, so each scheme has a separate one.
  const running = new Map<Scheme, ReturnType<typeof launch>>()
  const browserFor = (scheme: Scheme) => {
    const one = running.get(scheme) ?? launch(scheme)
    running.set(scheme, one)
    return one
  }
  await browserFor('light')
  return {
    async newContext({ width, height, colorScheme, cookies }) {
      const { browser } = await browserFor(colorScheme)
      const context = await browser.createBrowserContext()
      for (const { name, value, url } of cookies) {
        const { hostname: domain, protocol } = new URL(url)
        await context.setCookie({ name, value, domain, path: '/', secure: protocol === 'https:', sameSite: 'Lax' })
      }
      return contextOf(context, { width, height })
    },
    async close() {
      await Promise.all([...running.values()].map(async (one) => (await one).close()))
      display?.close()
    },
  }
}

const preferences = (proxyPort: number, colorScheme: Scheme) => ({
  'network.proxy.type': 1,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': proxyPort,
  'network.proxy.no_proxies_on': DIRECT,
  'layout.css.prefers-color-scheme.content-override': colorScheme === 'dark' ? 0 : 1,
  'ui.prefersReducedMotion': 1,
  // Overlay scroll bars, as on a phone, take no width from the page.
  'ui.useOverlayScrollbars': 1,
  // These stop the browser's own requests.
  'app.normandy.enabled': false,
  'app.update.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
})

function contextOf(context: BrowserContext, size: { width: number; height: number }): DriverContext {
  const driverPage = wrapPages(pageOf)
  return {
    async newPage() {
      const page = await context.newPage()
      await page.setViewport(size)
      await page.evaluateOnNewDocument(withoutAborts)
      return driverPage(page)
    },
    pages: async () => (await context.pages()).map(driverPage),
    close: () => context.close(),
  }
}

function pageOf(page: Page): DriverPage {
  page.setDefaultTimeout(timeLimit())
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text())
  })
  page.on('pageerror', (error) => {
    if (!LEFT_STREAM.test(String(error))) complaints.push(String(error))
  })
  page.on('request', (request) => {
    if (isExternal(request.url())) complaints.push(`external request: ${request.url()}`)
  })
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText
    // The browser reports this for requests of a page that has navigated away.
    if (reason !== 'NS_BINDING_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`)
  })
  return {
    ...frameOf(page.mainFrame()),
    id: page,
    complaints,
    goto: (url) => goTo(page, url),
    url: async () => page.url(),
    press: (key) => page.keyboard.press(key as 'Enter'),
    resize: (width, height) => page.setViewport({ width, height }),
    async screenshot(fullPage) {
      if (!fullPage) return Buffer.from(await page.screenshot())
      const size = (await page.evaluate(WHOLE_PAGE)) as [number, number]
      return Buffer.from(await page.screenshot({ clip: wholePage(size), captureBeyondViewport: true }))
    },
    close: () => page.close(),
  }
}

/**
 * Runs in each document. It keeps errors from the console that come of leaving the page, such as those of requests that
 * are aborted. Errors become texts, which BiDi would not show otherwise.
 */
function withoutAborts(): void {
  let left = false
  addEventListener('beforeunload', () => {
    left = true
    setTimeout(() => {
      left = false
    }, 5000)
  })
  const quiet = (event: Event) => left && event.preventDefault()
  addEventListener('error', quiet)
  addEventListener('unhandledrejection', quiet)
  for (const kind of ['error', 'warn'] as const) {
    const write = console[kind]
    console[kind] = (...what) => {
      if (!left)
        write.apply(
          console,
          what.map((one) => (one instanceof Error ? String(one) : one)),
        )
    }
  }
}

/**
 * Opens an address. Puppeteer waits for the new page and for the end of the previous page's frames. It starts to wait
 * for the latter only after the new page is loaded, so it waits forever if they ended before. On pages with frames this
 * function therefore waits only for the load.
 */
async function goTo(page: Page, url: string): Promise<void> {
  const framed = page.mainFrame().childFrames().length > 0
  const loaded = new Promise<void>((resolve) => {
    const navigated = (frame: Frame) => {
      if (frame !== page.mainFrame()) return
      page.off('framenavigated', navigated)
      page.once('load', () => resolve())
    }
    if (framed) page.on('framenavigated', navigated)
  })
  const gone = page.goto(url)
  gone.catch(() => {}) // This may reject long after the test has continued.
  await Promise.race([gone, loaded])
}

const frameOf = wrapFrames((element: ElementHandle<HTMLInputElement>, path: string) => element.uploadFile(path))
