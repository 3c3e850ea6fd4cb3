import type { Names } from './names.ts'

/** Which engine draws the page: Chrome's and Edge's, Firefox's, Safari's. */
export type EngineName = 'chromium' | 'firefox' | 'webkit'

/** What an engine has to do for `Page`, in each case by its own protocol. Expressions are JavaScript. */
export interface DriverFrame {
  /** The value of an expression as JSON; a promise is awaited. */
  evaluate(expression: string): Promise<unknown>
  /** The element that an expression names, or null. */
  element(expression: string): Promise<DriverElement | null>
}

export interface DriverElement {
  /** As the mouse does it: scrolled into view, at its middle. */
  click(): Promise<void>
  /** Types at the end of what a field holds. */
  type(text: string): Promise<void>
  /** Chooses a file of this machine. */
  chooseFile(path: string): Promise<void>
  /** What is inside of an `<iframe>`. */
  frame(): Promise<DriverFrame>
}

/** The size of a page, as an expression. */
export const WHOLE_PAGE = '[innerWidth, document.documentElement.scrollHeight]'

/** What a picture of it shows. */
export const wholePage = ([width, height]: [number, number]) => ({
  x: 0,
  y: 0,
  width,
  height: Math.min(height, TALLEST),
})

/** Pixels of the tallest picture: no engine draws pages of any height at once. */
export const TALLEST = 15_000

export interface DriverPage extends DriverFrame {
  /** Equal for the same tab or window. */
  readonly id: unknown
  /** Opens an address and waits until it is loaded. */
  goto(url: string): Promise<void>
  url(): Promise<string>
  /** A key by its name in the UI Events specification, such as `Enter`. */
  press(key: string): Promise<void>
  resize(width: number, height: number): Promise<void>
  /** A PNG of the whole page, or of what the window shows; of a page that is very tall, its beginning. */
  screenshot(fullPage: boolean): Promise<Buffer>
  /** Everything that the browser complained about in this page so far; of WebKit in all pages of the context. */
  readonly complaints: string[]
  close(): Promise<void>
}

/** With `SameSite=Lax`, as those of a sign-in are. */
export interface Cookie {
  name: string
  value: string
  /** Where it is sent to. */
  url: string
}

export interface ContextOptions {
  width: number
  height: number
  colorScheme: 'light' | 'dark'
  cookies: readonly Cookie[]
}

/** Somebody's browser: cookies and storage of its own. */
export interface DriverContext {
  newPage(): Promise<DriverPage>
  /** All tabs and windows, those that pages opened too. */
  pages(): Promise<DriverPage[]>
  close(): Promise<void>
}

export interface DriverOptions {
  /** Where names of `.test` lead to. */
  names: Names
  /** Draws 3D, without a graphics card. */
  graphics?: boolean | undefined
  /** Further flags of Chromium's command line. */
  chromiumFlags?: readonly string[] | undefined
  /** Further preferences of Firefox, as in `about:config`. */
  firefoxPreferences?: Record<string, string | number | boolean> | undefined
}

/** A browser that runs. */
export interface Driver {
  newContext(options: ContextOptions): Promise<DriverContext>
  close(): Promise<void>
}
