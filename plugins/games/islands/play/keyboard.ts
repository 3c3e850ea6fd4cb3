/** Keys that games use, and that would scroll the page. */
const GAME_KEYS = new Set(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', ' '])

/**
 * Gives the keyboard to the game: when it has loaded, and when one of its keys is pressed where nothing else has the
 * focus. While the game is to be seen, its keys don't scroll the page under it.
 */
export function giveKeyboardTo(frame: HTMLIFrameElement): void {
  const give = () => {
    // Only the empty document before the game is accessible. The game would not get the keyboard from it.
    if (isFree() && frame.contentDocument === null) frame.focus({ preventScroll: true })
  }
  frame.addEventListener('load', give)
  // The frame may have loaded before this script.
  if (document.readyState === 'complete') give()
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, altKey, metaKey } = event
    if (!GAME_KEYS.has(key) || ctrlKey || altKey || metaKey || !isFree() || !isInView(frame)) return
    event.preventDefault()
    give()
  })
}

/** Whether nothing has the focus, so that keys go to the page. */
const isFree = (): boolean => document.activeElement === null || document.activeElement === document.body

/** Whether at least half of the frame is in view. */
function isInView(frame: HTMLElement): boolean {
  const { top, bottom, height } = frame.getBoundingClientRect()
  return Math.min(bottom, innerHeight) - Math.max(top, 0) >= height / 2
}
