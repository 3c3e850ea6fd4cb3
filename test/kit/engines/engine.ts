import type { Test } from 'tap'
import { hasPrograms } from '../components.ts'
import { until } from '../until.ts'
import { startChromium } from './chromium.ts'
import type { ContextOptions, Driver, DriverContext, DriverOptions, EngineName } from './driver.ts'
import { startFirefox } from './firefox.ts'
import { Names } from './names.ts'
import { EnginePage } from './page.ts'
import { startWebKit } from './webkit.ts'

export type { EngineName } from './driver.ts'

export const ENGINES = ['chromium', 'firefox', 'webkit'] as const

/** The start function of each engine. It checks for the programs that it needs. */
const START: Record<EngineName, (t: Test, options: DriverOptions) => Promise<Driver | null>> = {
  chromium: startChromium,
  firefox: async (t, options) => {
    const programs = options.graphics ? ['firefox-esr', 'Xvfb'] : ['firefox-esr']
    return hasPrograms(t, ...programs) ? startFirefox(options) : null
  },
  webkit: async (t, options) => (hasPrograms(t, 'WebKitWebDriver', 'Xvfb') ? startWebKit(options) : null),
}

/** A browser of one engine, for any number of users of a test. */
export interface Engine {
  name: EngineName
  /** Opens a context for one user, with separate cookies and storage. It accepts self-signed certificates. */
  newContext(options?: Partial<ContextOptions> & { base?: string }): Promise<EngineContext>
  /** Routes https for a domain of `.test` and its subdomains to a port of this machine. */
  route(domain: string, port: number): void
}

/**
 * Starts a browser, which ends with the test. Returns null, after marking the test as skipped, where the browser is not
 * installed; under CI=true that is a failure. A start takes one or two seconds, so one per file is enough.
 */
export async function openEngine(
  t: Test,
  name: EngineName,
  options: Omit<DriverOptions, 'names'> = {},
): Promise<Engine | null> {
  const names = new Names()
  t.teardown(() => names.close())
  const driver = await START[name](t, { ...options, names })
  if (!driver) return null
  t.teardown(() => driver.close())
  return {
    name,
    route: names.route,
    async newContext({ base, ...given } = {}) {
      const all = { width: 1280, height: 900, colorScheme: 'light', cookies: [], ...given } as const
      return new EngineContext(await driver.newContext(all), base)
    },
  }
}

/** The browser of one user. */
export class EngineContext {
  readonly #context: DriverContext
  readonly #base: string | undefined

  constructor(context: DriverContext, base: string | undefined) {
    this.#context = context
    this.#base = base
  }

  async newPage(): Promise<EnginePage> {
    return new EnginePage(await this.#context.newPage(), this.#base)
  }

  async pages(): Promise<EnginePage[]> {
    return (await this.#context.pages()).map((page) => new EnginePage(page, this.#base))
  }

  /** Performs an action that opens a window, and waits for the window. */
  async popup(act: () => Promise<unknown>): Promise<EnginePage> {
    const before = new Set((await this.pages()).map(({ id }) => id))
    await act()
    return until(async () => (await this.pages()).find(({ id }) => !before.has(id)))
  }

  close(): Promise<void> {
    return this.#context.close()
  }
}
