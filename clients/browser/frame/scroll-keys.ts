/** Keys that scroll a page. */
const SCROLLS: Readonly<Record<string, readonly [x: -1 | 0 | 1, y: -1 | 0 | 1]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  PageUp: [0, -1],
  PageDown: [0, 1],
  Home: [0, -1],
  End: [0, 1],
  ' ': [0, 1],
}
/** Elements that use these keys themselves. */
const USES_KEYS =
  'a[href], button, input, select, textarea, summary, audio, video, iframe, [contenteditable], [role], [tabindex]:not(canvas)'

/**
 * Keeps keys that the game's page has no use for from scrolling the page around the frame, as browsers do. A page or an
 * element that scrolls in the direction of the key still does.
 */
export function keepScrollKeys(): void {
  addEventListener('keydown', (event) => {
    const { key, defaultPrevented, ctrlKey, altKey, metaKey } = event
    const direction = Object.hasOwn(SCROLLS, key) ? SCROLLS[key] : undefined
    if (!direction || defaultPrevented || ctrlKey || altKey || metaKey) return
    const path = event.composedPath().filter((target) => target instanceof Element)
    if (path[0]?.matches(USES_KEYS)) return
    const [x, y] = key === ' ' && event.shiftKey ? ([0, -1] as const) : direction
    if (!path.some((element) => scrolls(element, x, y))) event.preventDefault()
  })
}

/** Whether an element can scroll further in a direction. */
function scrolls(element: Element, x: number, y: number): boolean {
  const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = element
  const { overflowX, overflowY } = getComputedStyle(element)
  const isPage = element === document.scrollingElement
  const along = (overflow: string, at: number, most: number, by: number) =>
    by !== 0 && most > 0 && /auto|scroll/.test(isPage && overflow === 'visible' ? 'auto' : overflow)
      ? by < 0
        ? at > 0
        : at < most - 1
      : false
  return (
    along(overflowX, scrollLeft, scrollWidth - clientWidth, x) ||
    along(overflowY, scrollTop, scrollHeight - clientHeight, y)
  )
}
