import { setTimeout as sleep } from 'node:timers/promises'
import { timeLimit } from '../time-limit.ts'
import { type Cookie, type DriverElement, type DriverFrame, type DriverPage, TALLEST } from './driver.ts'

/** The key of an element reference (WebDriver, section 12). */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
type Reference = { [ELEMENT]: string }

/** The code points of keys that are no characters (WebDriver, section 17.4.2). */
const KEYS: Record<string, string> = {
  Backspace: '\uE003',
  Tab: '\uE004',
  Enter: '\uE007',
  Escape: '\uE00C',
  Space: ' ',
  ArrowLeft: '\uE012',
  ArrowUp: '\uE013',
  ArrowRight: '\uE014',
  ArrowDown: '\uE015',
}

const SCROLL = `arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })`

/** Waits until the browser has drawn the current state of the page. */
const DRAWN = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

/**
 * A session of classic WebDriver. It runs one command at a time, because the current window and frame are session
 * state.
 */
export class WebDriverSession {
  readonly #address: string
  readonly #complaints: string[]
  readonly #pages = new Map<string, WebDriverPage>()
  #last: Promise<unknown> = Promise.resolve()
  #at: { window: string; frames: readonly Reference[] } | null = null

  private constructor(address: string, complaints: string[]) {
    this.#address = address
    this.#complaints = complaints
  }

  /**
   * Opens a session when the driver responds.
   *
   * @param complaints the errors of all its pages, which the proxy records
   */
  static async open(driver: string, complaints: string[], capabilities: object): Promise<WebDriverSession> {
    const deadline = Date.now() + timeLimit()
    while (!(await fetch(`${driver}/status`).catch(() => null))) {
      if (Date.now() > deadline) throw new Error(`No WebDriver answers at ${driver}.`)
      await sleep(20)
    }
    const { sessionId } = (await send('POST', `${driver}/session`, {
      capabilities: { alwaysMatch: capabilities },
    })) as { sessionId: string }
    return new WebDriverSession(`${driver}/session/${sessionId}`, complaints)
  }

  /** Sends a command that needs no window. */
  command(method: string, path: string, body?: object): Promise<unknown> {
    return this.#queue(() => send(method, this.#address + path, body))
  }

  /** Sends a command for a frame of a window. */
  commandIn(window: string, frames: readonly Reference[], method: string, path: string, body?: object) {
    return this.#queue(async () => {
      try {
        if (this.#at?.window !== window) await send('POST', `${this.#address}/window`, { handle: window })
        if (this.#at?.window !== window || this.#at.frames !== frames) {
          await send('POST', `${this.#address}/frame`, { id: null })
          for (const id of frames) await send('POST', `${this.#address}/frame`, { id })
        }
        this.#at = { window, frames }
        return await send(method, this.#address + path, body)
      } catch (error) {
        this.#at = null
        throw error
      }
    })
  }

  async windows(): Promise<WebDriverPage[]> {
    const handles = (await this.command('GET', '/window/handles')) as string[]
    return handles.map((handle) => this.#page(handle))
  }

  /** Opens a window instead of a tab, because the browser does not render hidden tabs. */
  async newWindow(): Promise<WebDriverPage> {
    const { handle } = (await this.command('POST', '/window/new', { type: 'window' })) as { handle: string }
    return this.#page(handle)
  }

  /** Sets cookies. WebDriver can set them only for the open site. */
  async setCookies(cookies: readonly Cookie[]): Promise<void> {
    let open = ''
    for (const { name, value, url } of cookies) {
      const { origin, protocol } = new URL(url)
      if (open !== origin) await this.command('POST', '/url', { url: `${origin}/healthz` })
      open = origin
      const cookie = { name, value, path: '/', httpOnly: true, secure: protocol === 'https:', sameSite: 'Lax' }
      await this.command('POST', '/cookie', { cookie })
    }
    if (open) await this.command('POST', '/url', { url: 'about:blank' })
  }

  close(): Promise<unknown> {
    return this.command('DELETE', '')
  }

  #page(handle: string): WebDriverPage {
    const page = this.#pages.get(handle) ?? new WebDriverPage(this, handle, this.#complaints)
    this.#pages.set(handle, page)
    return page
  }

  #queue<Value>(task: () => Promise<Value>): Promise<Value> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }
}

async function send(method: string, url: string, body?: object): Promise<unknown> {
  const needsBody = method === 'POST'
  const answer = await fetch(url, { method, ...(needsBody ? { body: JSON.stringify(body ?? {}) } : {}) })
  const { value } = (await answer.json()) as { value: unknown }
  if (answer.ok) return value
  const { error, message } = value as { error: string; message: string }
  throw new Error(`${error}: ${message}`)
}

/** The document of a window or of a frame in it. */
class WebDriverFrame implements DriverFrame {
  readonly #session: WebDriverSession
  readonly #window: string
  readonly #frames: readonly Reference[]

  constructor(session: WebDriverSession, window: string, frames: readonly Reference[]) {
    this.#session = session
    this.#window = window
    this.#frames = frames
  }

  async evaluate(expression: string): Promise<unknown> {
    const script = `const done = arguments[arguments.length - 1]
      Promise.resolve().then(() => (${expression}))
        .then((value) => done({ value }), (error) => done({ error: String(error) }))`
    const outcome = (await this.command('POST', '/execute/async', { script, args: [] })) as {
      value?: unknown
      error?: string
    }
    if (outcome.error !== undefined) throw new Error(outcome.error)
    return outcome.value
  }

  async element(expression: string): Promise<DriverElement | null> {
    const script = `return (${expression})`
    const reference = (await this.command('POST', '/execute/sync', { script, args: [] })) as Reference | null
    if (!reference) return null
    const path = `/element/${reference[ELEMENT]}`
    return {
      click: async () => {
        // Without this, WebKit does not scroll some pages, and reports that the element is not interactable.
        await this.command('POST', '/execute/sync', { script: SCROLL, args: [reference] })
        await this.command('POST', `${path}/click`)
      },
      type: async (text) => void (await this.command('POST', `${path}/value`, { text })),
      chooseFile: async (file) => void (await this.command('POST', `${path}/value`, { text: file })),
      frame: async () => new WebDriverFrame(this.#session, this.#window, [...this.#frames, reference]),
    }
  }

  protected command(method: string, path: string, body?: object): Promise<unknown> {
    return this.#session.commandIn(this.#window, this.#frames, method, path, body)
  }
}

export class WebDriverPage extends WebDriverFrame implements DriverPage {
  readonly id: string
  readonly complaints: string[]

  constructor(session: WebDriverSession, handle: string, complaints: string[]) {
    super(session, handle, [])
    this.id = handle
    this.complaints = complaints
  }

  async goto(url: string): Promise<void> {
    await this.command('POST', '/url', { url })
  }

  async url(): Promise<string> {
    return (await this.command('GET', '/url')) as string
  }

  async press(key: string): Promise<void> {
    const value = KEYS[key] ?? key
    const actions = [{ type: 'key', id: 'keyboard', actions: ['keyDown', 'keyUp'].map((type) => ({ type, value })) }]
    await this.command('POST', '/actions', { actions })
  }

  /** Resizes the page itself; the window is larger by its bars. */
  async resize(width: number, height: number): Promise<void> {
    const size = () => this.evaluate('[innerWidth, innerHeight]') as Promise<[number, number]>
    let [outerWidth, outerHeight] = [width, height]
    const deadline = Date.now() + timeLimit()
    for (let tries = 0; Date.now() < deadline; tries++) {
      const before = await size()
      if (before[0] === width && before[1] === height) return
      if (tries % 20 === 0) {
        const rect = (await this.command('GET', '/window/rect')) as { width: number; height: number }
        outerWidth = rect.width + width - before[0]
        outerHeight = rect.height + height - before[1]
        await this.command('POST', '/window/rect', { x: 0, y: 0, width: outerWidth, height: outerHeight })
      }
      await sleep(20)
    }
    throw new Error(`The page has ${await size()}, not ${width}, ${height}.`)
  }

  async screenshot(fullPage: boolean): Promise<Buffer> {
    const take = async () => {
      await this.evaluate(DRAWN)
      return Buffer.from((await this.command('GET', '/screenshot')) as string, 'base64')
    }
    if (!fullPage) return take()
    const [width, height] = (await this.evaluate('[innerWidth, innerHeight]')) as [number, number]
    const all = (await this.evaluate('document.documentElement.scrollHeight')) as number
    const whole = Math.min(all, TALLEST)
    if (whole <= height) return take()
    await this.resize(width, whole)
    const picture = await take()
    await this.resize(width, height)
    return picture
  }

  async close(): Promise<void> {
    await this.command('DELETE', '/window')
  }
}
