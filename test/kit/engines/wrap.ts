import type { DriverElement, DriverFrame, DriverPage } from './driver.ts'

/** An element as Playwright and Puppeteer both have it. */
interface LibraryElement<Frame> {
  click(): Promise<void>
  type(text: string): Promise<void>
  contentFrame(): Promise<Frame | null>
}

/** A frame as Playwright and Puppeteer both have it. */
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

/** One page of the interface for each of the library's, the same one every time. */
export function wrapPages<Page extends object>(wrap: (page: Page) => DriverPage): (page: Page) => DriverPage {
  const known = new WeakMap<Page, DriverPage>()
  return (page) => {
    const one = known.get(page) ?? wrap(page)
    known.set(page, one)
    return one
  }
}
