import { execFileSync } from 'node:child_process'
import { type Browser, chromium, type Page } from 'playwright-core'

/** A phone on a slow connection: Lighthouse's slow 4G, and a quarter of the CPU speed. */
const LINE = { latency: 150, downloadThroughput: (1.6 * 1024 * 1024) / 8, uploadThroughput: (750 * 1024) / 8 }
const SLOWDOWN = 4

export interface Paint {
  /** Milliseconds since the start of the navigation. */
  firstPaintMs: number
  /** The transferred bytes of the page itself. */
  pageBytes: number
}

/** Starts the Chromium of this machine. */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  })

/** Opens an empty page in a new context. @param site `cookie` as a header has it */
export async function openTab(
  browser: Browser,
  { origin, cookie }: { origin: string; cookie: string },
  viewport = { width: 390, height: 844 },
): Promise<Page> {
  const context = await browser.newContext({ viewport })
  const pairs = cookie.split('; ').filter(Boolean)
  await context.addCookies(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      return { name, value, url: origin }
    }),
  )
  return context.newPage()
}

/** Makes a page as slow as on such a phone. */
export async function throttle(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', { offline: false, ...LINE })
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
}

/**
 * Opens pages for the first time, in Chromium on a slow connection, and measures the first paint of each. It takes the
 * fastest of several runs, since other load on the machine can only slow a run down.
 */
export async function firstPaints(
  site: { origin: string; cookie: string },
  paths: readonly string[],
  rounds: number,
): Promise<Map<string, Paint>> {
  const browser = await startChromium()
  const found = new Map<string, Paint>()
  try {
    for (const path of paths) {
      const paints: Paint[] = []
      for (let round = 0; round < rounds; round++) paints.push(await firstPaint(path))
      paints.sort((a, b) => a.firstPaintMs - b.firstPaintMs)
      found.set(path, paints[0] as Paint)
    }
  } finally {
    await browser.close()
  }
  return found

  async function firstPaint(path: string): Promise<Paint> {
    const page = await openTab(browser, site)
    await throttle(page)
    await page.goto(site.origin + path, { waitUntil: 'load' })
    const seen = await page.evaluate(async () => {
      const painted = () => performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint')
      while (!painted()) await new Promise((done) => setTimeout(done, 50))
      const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
      return { firstPaintMs: painted()?.startTime ?? 0, pageBytes: navigation?.transferSize ?? 0 }
    })
    await page.context().close()
    return seen
  }
}
