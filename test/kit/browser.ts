import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { skipWithout } from './components.ts'
import { atProcessEnd } from './process-end.ts'
import { timeLimit } from './time-limit.ts'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
/**
 * The headless shell renders and runs pages with the same code, for half of the CPU time. It differs in one way: it
 * accepts third-party cookies, which the full browser refuses.
 */
const SHELL = '/usr/bin/chromium-headless-shell'
const shellPath = process.env.CHROMIUM || !existsSync(SHELL) ? executablePath : SHELL
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Launch options of Chromium. The browser sends no requests of its own. */
export const BROWSER = { executablePath, headless: true, args: flags }

/** A flag that renders 3D without a graphics card. */
export const SOFTWARE_GRAPHICS = '--enable-unsafe-swiftshader'

/** The shared browsers of this process, with and without graphics. Each test has separate contexts. */
const running = new Map<string, Promise<Browser>>()

/**
 * Opens a Chromium for a test, shared unless the test needs its own flags. Its contexts are closed at the test's end.
 * Returns null, after marking the test as skipped, where there is no Chromium; under CI=true that is a failure.
 *
 * @param extra further flags
 * @param whole the full browser, for tests about cookies in frames
 */
export async function openBrowser(
  t: Test,
  extra: readonly string[] = [],
  { whole = false } = {},
): Promise<Browser | null> {
  if (!existsSync(executablePath)) {
    skipWithout(t, 'chromium')
    return null
  }
  if (extra.some((flag) => flag !== SOFTWARE_GRAPHICS)) {
    const own = await launch(executablePath, extra)
    t.teardown(() => own.close())
    return own
  }
  const browser = await sharedBrowser(whole ? executablePath : shellPath, extra)
  const others = new Set(browser.contexts())
  t.teardown(() => Promise.all(browser.contexts().map((context) => others.has(context) || context.close())))
  return browser
}

async function sharedBrowser(program: string, extra: readonly string[]): Promise<Browser> {
  const key = [program, ...extra].join(' ')
  const earlier = await running.get(key)
  if (earlier?.isConnected()) return earlier
  const launched = launch(program, extra)
  running.set(key, launched)
  const browser = await launched
  await atProcessEnd(() => browser.close())
  return browser
}

/** Launches a browser. Pages of its contexts wait as long as tests do, and not Playwright's 30 seconds. */
async function launch(program: string, extra: readonly string[]): Promise<Browser> {
  const options = { ...BROWSER, executablePath: program, args: [...flags, ...extra], timeout: timeLimit(120) }
  const browser = await chromium.launch(options)
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(timeLimit())
    return context
  }
  return browser
}

/** The setting with which Chrome ships. Debian's Chromium blocks third-party cookies, and workers of framed pages with them. */
export const WITH_THIRD_PARTY_COOKIES = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } }

/**
 * Opens the full browser with a profile of its own, which the test's end removes. Returns null where there is none, as
 * `openBrowser` does.
 *
 * @param preferences of the profile
 */
export async function openProfile(
  t: Test,
  preferences: object,
  extra: readonly string[] = [],
): Promise<BrowserContext | null> {
  if (!existsSync(executablePath)) {
    skipWithout(t, 'chromium')
    return null
  }
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-profile-'))
  mkdirSync(join(folder, 'Default'))
  writeFileSync(join(folder, 'Default/Preferences'), JSON.stringify(preferences))
  const context = await chromium.launchPersistentContext(folder, {
    ...BROWSER,
    args: [...flags, ...extra],
    timeout: timeLimit(120),
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(timeLimit())
  t.teardown(async () => {
    await context.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  })
  return context
}

/** A page that records console errors, refused resources, uncaught exceptions and external requests. */
export interface WatchedPage {
  page: Page
  context: BrowserContext
  complaints: string[]
}

/** Opens a page in a separate context (cookies, colour scheme, size) and records its errors. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  return { page, context, complaints: complaintsOf(page) }
}

/** Records the errors of a page from now on. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    // Chromium on Linux has no Web Share, and says so for every frame that may use it.
    if (message.text() === "Unrecognized feature: 'web-share'.") return
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText
    // The browser reports this for requests of a page that has navigated away.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`)
  })
  page.on('request', (request) => {
    if (isExternal(request.url())) complaints.push(`external request: ${request.url()}`)
  })
  return complaints
}

/** Returns whether an address is outside the test's setup. */
export function isExternal(url: string): boolean {
  const { hostname, protocol } = new URL(url)
  if (!/^(https?|wss?):$/.test(protocol)) return false
  return !/(^|\.)(localhost|test)$|^127\.0\.0\.1$/.test(hostname)
}

let axe: Promise<string> | undefined

interface Violation {
  id: string
  help: string
  nodes: { target: unknown[]; failureSummary?: string }[]
}

/**
 * Runs axe-core on the current page and fails the test with its violations.
 *
 * @param rules the rules to run; all by default
 */
export async function expectNoAxeViolations(
  t: Test,
  page: Page,
  name = 'axe-core finds nothing',
  rules?: readonly string[],
): Promise<void> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  // A page's Content-Security-Policy does not apply to scripts that the debugging protocol evaluates.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await axe)
  const options = { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) }
  const violations = (await page.evaluate(
    `(async () => (await axe.run(document, ${JSON.stringify(options)})).violations)()`,
  )) as Violation[]
  const found = violations.map(({ id, help, nodes }) => ({
    rule: `${id}: ${help}`,
    where: nodes.slice(0, 5).map((node) => `${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  }))
  t.same(found, [], name)
}

/** Finds elements that overflow the window horizontally. It runs in the page. */
export function overflowingElements(): string[] {
  const nameOf = (element: Element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`
  const width = document.documentElement.clientWidth
  const outside =
    document.documentElement.scrollWidth <= width
      ? []
      : [...document.body.querySelectorAll('*')].filter((element) => element.getBoundingClientRect().right > width + 1)
  // A card covers the one beside it, and sticks out of the page only in the last column.
  const cards = [...document.body.querySelectorAll('.grid > *')].filter(
    ({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth + 1,
  )
  return [...new Set([...outside, ...cards])].map(nameOf).slice(0, 8)
}

/** Fails the test when the page is wider than the window, and names the overflowing elements. */
export async function expectNoOverflow(t: Test, page: Page, name = 'nothing sticks out at the side'): Promise<void> {
  t.same(await page.evaluate(overflowingElements), [], name)
}

/** Saves a screenshot of the whole page in the folder SCREENSHOTS; does nothing when that is unset. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}
