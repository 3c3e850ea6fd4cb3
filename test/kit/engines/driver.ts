import type { Names } from './names.ts'

/** The rendering engine: that of Chrome and Edge, of Firefox, or of Safari. */
export type EngineName = 'chromium' | 'firefox' | 'webkit'

/** The functions that each engine implements for `Page` with its own protocol. Expressions are JavaScript. */
export interface DriverFrame {
  /** Returns the value of an expression as JSON. It awaits a promise. */
  evaluate(expression: string): Promise<unknown>
  /** Returns the element that an expression evaluates to, or null. */
  element(expression: string): Promise<DriverElement | null>
}

export interface DriverElement {
  /** Clicks the centre of the element with the mouse, after scrolling it into view. */
  click(): Promise<void>
  /** Types at the end of a field's content. */
  type(text: string): Promise<void>
  /** Chooses a local file. */
  chooseFile(path: string): Promise<void>
  /** Returns the document inside an `<iframe>`. */
  frame(): Promise<DriverFrame>
}

/** An expression for the size of a page. */
export const WHOLE_PAGE = '[innerWidth, document.documentElement.scrollHeight]'

/** The area of a screenshot of the whole page. */
export const wholePage = ([width, height]: [number, number]) => ({
  x: 0,
  y: 0,
  width,
  height: Math.min(height, TALLEST),
})

/** The maximum height of a screenshot in pixels, because no engine renders pages of unlimited height. */
export const TALLEST = 15_000

export interface DriverPage extends DriverFrame {
  /** Identifies a tab or window. */
  readonly id: unknown
  /** Opens an address and waits until the page is loaded. */
  goto(url: string): Promise<void>
  url(): Promise<string>
  /** Presses a key, named as in the UI Events specification, such as `Enter`. */
  press(key: string): Promise<void>
  resize(width: number, height: number): Promise<void>
  /** Returns a PNG of the whole page or the viewport. A very tall page is cut off. */
  screenshot(fullPage: boolean): Promise<Buffer>
  /** All errors that the browser reported in this page so far. WebKit reports those of all pages of the context. */
  readonly complaints: string[]
  close(): Promise<void>
}

/** A cookie with `SameSite=Lax`, like those of a sign-in. */
export interface Cookie {
  name: string
  value: string
  /** The address to which the browser sends the cookie. */
  url: string
}

export interface ContextOptions {
  width: number
  height: number
  colorScheme: 'light' | 'dark'
  cookies: readonly Cookie[]
}

/** A browser context with separate cookies and storage. */
export interface DriverContext {
  newPage(): Promise<DriverPage>
  /** Returns all tabs and windows, including those that pages opened. */
  pages(): Promise<DriverPage[]>
  close(): Promise<void>
}

export interface DriverOptions {
  /** Resolves names of `.test`. */
  names: Names
  /** Renders 3D without a graphics card. */
  graphics?: boolean | undefined
  /** Additional Chromium flags. */
  chromiumFlags?: readonly string[] | undefined
  /** Additional Firefox preferences, as in `about:config`. */
  firefoxPreferences?: Record<string, string | number | boolean> | undefined
}

/** A running browser. */
export interface Driver {
  newContext(options: ContextOptions): Promise<DriverContext>
  close(): Promise<void>
}
