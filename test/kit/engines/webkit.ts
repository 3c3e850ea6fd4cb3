import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../server.ts'
import { endWithParent } from '../watchdog.ts'
import { startDisplay } from './display.ts'
import type { ContextOptions, Driver, DriverContext, DriverOptions } from './driver.ts'
import { WebDriverSession } from './webdriver.ts'

/**
 * Reduces the window to the page: its bars have no height and fit the width of a phone. It also turns animation off.
 */
const GTK_STYLE =
  '* { min-width: 0; min-height: 0; padding: 0; margin: 0; border-width: 0; font-size: 1px; -gtk-icon-transform: scale(0.1); }'
const GTK_SETTINGS = '[Settings]\ngtk-enable-animations=0\n'

/** Starts WebKitGTK, Safari's engine, through classic WebDriver on a virtual display. */
export async function startWebKit({ names }: DriverOptions): Promise<Driver> {
  const browser = miniBrowser()
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-webkit-'))
  mkdirSync(join(folder, 'gtk-3.0'))
  writeFileSync(join(folder, 'gtk-3.0/gtk.css'), GTK_STYLE)
  writeFileSync(join(folder, 'gtk-3.0/settings.ini'), GTK_SETTINGS)
  const display = await startDisplay()
  const environment = {
    ...process.env,
    DISPLAY: display.name,
    XDG_CONFIG_HOME: folder,
    // The sandbox needs user namespaces, which root does not have in a container.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
  }
  const open = new Set<DriverContext>()

  /**
   * Opens a context with its own session and browser, because a WebKitWebDriver supports only one session at a time.
   */
  async function newContext({ width, height, colorScheme, cookies }: ContextOptions): Promise<DriverContext> {
    const port = await freePort()
    const program = spawn('WebKitWebDriver', [`--port=${port}`], {
      env: environment,
      stdio: 'ignore',
      detached: true,
    })
    const driver = endWithParent(program, { group: true })
    const gone = once(driver, 'exit')
    // Automation can't read the console, so a proxy records errors.
    const complaints: string[] = []
    const proxy = `--proxy=http://127.0.0.1:${await names.startProxy(complaints)}`
    const dark = colorScheme === 'dark' ? ['--dark-mode'] : []
    const address = `http://127.0.0.1:${port}`
    const session = await WebDriverSession.open(address, complaints, {
      acceptInsecureCerts: true,
      'webkitgtk:browserOptions': {
        binary: browser,
        // WebKit would use TLS to connect to a proxy from WebDriver's own capability `proxy`.
        args: ['--automation', proxy, ...dark],
      },
    })
    const [first] = await session.windows()
    await session.setCookies(cookies)
    await first?.resize(width, height)
    let given = false
    const context: DriverContext = {
      // A session starts with a window, which is the first page.
      async newPage() {
        const page = given || !first ? await session.newWindow() : first
        if (given) await page.resize(width, height)
        given = true
        return page
      },
      pages: () => session.windows(),
      async close() {
        open.delete(context)
        await session.close().catch(() => {})
        if (driver.pid) process.kill(-driver.pid, 'SIGKILL')
        await gone
      },
    }
    open.add(context)
    return context
  }

  return {
    newContext,
    async close() {
      await Promise.all([...open].map((context) => context.close()))
      display.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the browser of the driver's package, in the folder of the machine's architecture. */
function miniBrowser(): string {
  const folders = readdirSync('/usr/lib').map((name) => `/usr/lib/${name}/webkit2gtk-4.1/MiniBrowser`)
  return folders.find((path) => existsSync(path)) ?? 'MiniBrowser'
}
