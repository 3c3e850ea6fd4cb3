import type { DriverElement, DriverFrame, DriverPage } from './driver.ts'

/** The common interface of an element in Playwright and Puppeteer. */
interface LibraryElement<Frame> {
  click(): Promise<void>
  type(text: string): Promise<void>
  contentFrame(): Promise<Frame | null>
}

/** The common interface of a frame in Playwright and Puppeteer. */
interface LibraryFrame {
  evaluate(expression: string): Promise<unknown>
  evaluateHandle(expression: string): Promise<{ asElement(): unknown }>
}

/**
 * Wraps a library's frames as those of the interface.
 *
 * @param chooseFile gives a file to an `<input type="file">`, the only call that differs between the libraries
 */
export function wrapFrames<Frame extends LibraryFrame, Element extends LibraryElement<Frame>>(
  chooseFile: (element: Element, path: string) => Promise<void>,
): (frame: Frame) => DriverFrame {
  const frameOf = (frame: Frame): DriverFrame => ({
    evaluate: (expression) => frame.evaluate(expression),
    async element(expression) {
      const element = (await frame.evaluateHandle(expression)).asElement() as Element | null
      return element && elementOf(element)
    },
  })
  const elementOf = (element: Element): DriverElement => ({
    click: () => element.click(),
    type: (text) => element.type(text),
    chooseFile: (path) => chooseFile(element, path),
    async frame() {
      const frame = await element.contentFrame()
      if (!frame) throw new Error('There is no frame in it.')
      return frameOf(frame)
    },
  })
  return frameOf
}

/** Maps each page of the library to one page of the interface, always the same object. */
export function wrapPages<Page extends object>(wrap: (page: Page) => DriverPage): (page: Page) => DriverPage {
  const known = new WeakMap<Page, DriverPage>()
  return (page) => {
    const one = known.get(page) ?? wrap(page)
    known.set(page, one)
    return one
  }
}
