import type { EnginePage } from './page.ts'

/** More presses of Tab than any page has elements that take the focus. */
const MOST_PRESSES = 150

/** Uses a page by keyboard alone, as somebody without a mouse does. */
export class Keyboard {
  readonly #page: EnginePage

  constructor(page: EnginePage) {
    this.#page = page
  }

  /** Presses Tab until the element with this label or text, or the beginning of it, has the focus. */
  async tabTo(name: string): Promise<void> {
    const seen: string[] = []
    for (let presses = 0; presses <= MOST_PRESSES; presses++) {
      const at = await this.focused()
      if (at.startsWith(name)) return
      seen.push(at)
      await this.#page.press('Tab')
    }
    throw new Error(`Tab does not reach ${name}; it reaches ${[...new Set(seen)].join(', ')}.`)
  }

  /** Returns the label or text of the element that has the focus. */
  focused(): Promise<string> {
    return this.#page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement | null
      const label = element?.ariaLabel ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? ''
      return label.replace(/\s+/g, ' ').trim()
    })
  }

  /** Reaches a field by Tab, and types. */
  async type(label: string, text: string): Promise<void> {
    await this.tabTo(label)
    for (const key of text) await this.#page.press(key)
  }

  /** Reaches a button or a link by Tab, and presses Enter. */
  async press(name: string): Promise<void> {
    await this.tabTo(name)
    await this.#page.press('Enter')
  }
}
