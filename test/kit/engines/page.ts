import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { timeLimit } from '../time-limit.ts'
import type { DriverElement, DriverFrame, DriverPage } from './driver.ts'
import { findAll, findFirst, literal, type Query } from './find.ts'

/** The time limit is long because a busy machine is slow; tests here measure no speed. */
const PATIENCE_MS = timeLimit()
const POLL_MS = 40

/**
 * A document in any engine: that of a page or of a frame. Each call looks up the frame again, so it may navigate or
 * appear later.
 */
export class EngineFrame {
  readonly #root: () => Promise<DriverFrame>

  constructor(root: () => Promise<DriverFrame>) {
    this.#root = root
  }

  /** Returns a frame in this document, by default the first `<iframe>`. */
  frame(query: Query = 'iframe'): EngineFrame {
    return new EngineFrame(async () => {
      const element = await (await this.#root()).element(findFirst(query))
      if (!element) throw new Error(`There is no ${literal(query)}.`)
      return element.frame()
    })
  }

  /**
   * Returns the value of an expression, or of a self-contained function with one argument. A promise is awaited; the
   * result is JSON.
   */
  async evaluate<Value = unknown, Argument = undefined>(
    code: string | ((argument: Argument) => Value | Promise<Value>),
    argument?: Argument,
  ): Promise<Value> {
    const expression = typeof code === 'string' ? code : `(${code})(${JSON.stringify(argument) ?? ''})`
    return (await (await this.#root()).evaluate(expression)) as Value
  }

  /** Waits until an expression or function is true. @returns its value */
  waitFor<Value = unknown, Argument = undefined>(
    code: string | ((argument: Argument) => Value | Promise<Value>),
    argument?: Argument,
  ): Promise<Value> {
    return this.#until(String(code), async () => (await this.evaluate(code, argument)) || null)
  }

  /** Waits until a matching element exists and is visible. */
  async see(query: Query): Promise<void> {
    const seen = `${findAll(query)}.some((element) => element.checkVisibility({ visibilityProperty: true }))`
    await this.#until(literal(query), async () => (await this.evaluate(seen)) || null)
  }

  /** Returns the current number of matches. */
  count(query: Query): Promise<number> {
    return this.evaluate<number>(`${findAll(query)}.length`)
  }

  /** Waits for an element and returns its text. */
  text(query: Query): Promise<string> {
    return this.#until(literal(query), () => this.evaluate<string | null>(`${findFirst(query)}?.innerText ?? null`))
  }

  /** Waits for an element and clicks it. */
  click(query: Query): Promise<void> {
    return this.#with(query, (element) => element.click())
  }

  /** Replaces the content of a field. */
  async fill(query: Query, text: string): Promise<void> {
    await this.#with(query, () => Promise.resolve())
    await this.evaluate(`(() => {
      const field = ${findFirst(query)}
      field.focus()
      if (!field.value) return
      field.value = ''
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
    })()`)
    await this.#with(query, (element) => element.type(text))
  }

  /** Selects an option of a `<select>` by its label. */
  async select(query: Query, option: string): Promise<void> {
    await this.#with(query, () => Promise.resolve())
    await this.evaluate(`(() => {
      const field = ${findFirst(query)}
      field.value = [...field.options].find(({ label }) => label === ${JSON.stringify(option)}).value
      for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }))
    })()`)
  }

  /** Chooses a local file in a file field. */
  upload(query: Query, path: string): Promise<void> {
    return this.#with(query, (element) => element.chooseFile(path))
  }

  async #with(query: Query, act: (element: DriverElement) => Promise<void>): Promise<void> {
    await this.#until(literal(query), async () => {
      const element = await (await this.#root()).element(findFirst(query))
      if (!element) return null
      await act(element)
      return true
    })
  }

  /** Retries until an attempt succeeds, because pages and their frames may be replaced meanwhile. */
  async #until<Value>(what: string, attempt: () => Promise<Value | null>): Promise<Value> {
    const deadline = Date.now() + PATIENCE_MS
    for (let last: unknown = null; ; await sleep(POLL_MS)) {
      try {
        const value = await attempt()
        if (value !== null) return value
        last = null
      } catch (error) {
        last = error
      }
      if (Date.now() > deadline) throw new Error(`Nothing came of ${what} in time.`, { cause: last ?? undefined })
    }
  }
}

/** A tab or window. */
export class EnginePage extends EngineFrame {
  readonly #page: DriverPage
  readonly #base: string

  /** @param base the base URL for relative addresses */
  constructor(page: DriverPage, base = 'about:blank') {
    super(() => Promise.resolve(page))
    this.#page = page
    this.#base = base
  }

  get id(): unknown {
    return this.#page.id
  }

  /** Script errors and warnings, refused and failed requests, and external requests. */
  get complaints(): string[] {
    return this.#page.complaints
  }

  /** Opens an address and waits until the page is loaded. */
  goto(url: string): Promise<void> {
    return this.#page.goto(URL.canParse(url) ? url : new URL(url, this.#base).href)
  }

  url(): Promise<string> {
    return this.#page.url()
  }

  /** Waits until the address matches and the page is loaded. */
  async waitForUrl(fits: string | RegExp | ((url: URL) => boolean)): Promise<void> {
    const test = (url: string) =>
      typeof fits === 'string' ? url === fits : fits instanceof RegExp ? fits.test(url) : fits(new URL(url))
    const deadline = Date.now() + PATIENCE_MS
    while (!test(await this.url())) {
      if (Date.now() > deadline) throw new Error(`The address is ${await this.url()}, not ${fits}.`)
      await sleep(POLL_MS)
    }
    await this.waitFor(`document.readyState === 'complete'`)
  }

  press(key: string): Promise<void> {
    return this.#page.press(key)
  }

  resize(width: number, height: number): Promise<void> {
    return this.#page.resize(width, height)
  }

  /** Writes a PNG of the page. */
  async screenshot(path: string, { fullPage = true } = {}): Promise<void> {
    await writeFile(path, await this.#page.screenshot(fullPage))
  }

  close(): Promise<void> {
    return this.#page.close()
  }
}
