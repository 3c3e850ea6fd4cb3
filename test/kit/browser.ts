import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** How Chromium is started: nothing of its own goes out. */
export const BROWSER = { executablePath, headless: true, args: flags }

/** A flag with which 3D is drawn without a graphics card. */
export const SOFTWARE_GRAPHICS = '--enable-unsafe-swiftshader'

/**
 * Starts Chromium for a test and closes it at its end. Answers null, after marking the test as skipped, where there is
 * no Chromium; under CI=true that is a failure.
 *
 * @param extra further flags
 */
export async function openBrowser(t: Test, extra: readonly string[] = []): Promise<Browser | null> {
  try {
    const browser = await chromium.launch({ ...BROWSER, args: [...flags, ...extra] })
    t.teardown(() => browser.close())
    return browser
  } catch (error) {
    if (process.env.CI === 'true') throw error
    t.pass('skipped: no Chromium on this machine', { skip: 'no Chromium at /usr/bin/chromium' })
    return null
  }
}

/** A page that remembers its complaints: console errors, refused resources, uncaught exceptions, requests elsewhere. */
export interface WatchedPage {
  page: Page
  context: BrowserContext
  complaints: string[]
}

/** Opens a page in a context of its own (cookies, colour scheme, size) and writes down everything it complains about. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText
    // Aborted is what the browser calls a request of a page that was left meanwhile.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`)
  })
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    const ours = /(^|\.)(localhost|test)$|^127\.0\.0\.1$/.test(hostname)
    if (!ours && protocol !== 'data:' && protocol !== 'blob:') complaints.push(`external request: ${request.url()}`)
  })
  return { page, context, complaints }
}

let axe: Promise<string> | undefined

interface Violation {
  id: string
  help: string
  nodes: { target: unknown[]; failureSummary?: string }[]
}

/** Runs axe-core over the page as it stands and fails the test with what it finds. */
export async function expectNoAxeViolations(t: Test, page: Page, name = 'axe-core finds nothing'): Promise<void> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  // Evaluated through the debugging protocol, which a page's Content-Security-Policy does not bind.
  await page.evaluate(await axe)
  const violations = (await page.evaluate(
    '(async () => (await axe.run(document, { resultTypes: ["violations"] })).violations)()',
  )) as Violation[]
  const found = violations.map(({ id, help, nodes }) => ({
    rule: `${id}: ${help}`,
    where: nodes.slice(0, 5).map((node) => `${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  }))
  t.same(found, [], name)
}

/** Fails the test when the page is wider than the window, naming what sticks out. */
export async function expectNoOverflow(t: Test, page: Page, name = 'nothing sticks out at the side'): Promise<void> {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth
    if (document.documentElement.scrollWidth <= width) return []
    return [...document.body.querySelectorAll('*')]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`)
      .slice(0, 8)
  })
  t.same(wide, [], name)
}

/** Writes a picture of the whole page into the folder named by SCREENSHOTS; does nothing where that is not set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}
