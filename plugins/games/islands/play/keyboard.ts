import { endFullScreen } from './full-screen.ts'

/** Keys that games use, and that would scroll the page. */
const GAME_KEYS = new Set(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', ' '])

/**
 * Gives the keyboard to the game: when it has loaded, and when one of its keys is pressed where nothing else has the
 * focus. While the game is to be seen, its keys don't scroll the page under it.
 *
 * @param atLoad not for a game on another server, which may keep the keyboard, and whose keys this page does not see
 */
export function giveKeyboardTo(frame: HTMLIFrameElement, { atLoad }: { atLoad: boolean }): void {
  const give = () => {
    // Only the empty document before the game is accessible. The game would not get the keyboard from it.
    if (isFree() && frame.contentDocument === null) frame.focus({ preventScroll: true })
  }
  if (atLoad) {
    frame.addEventListener('load', give)
    // The frame may have loaded before this script. The window's load event follows that of its initial frames.
    if (document.readyState === 'complete') give()
    else addEventListener('load', give, { once: true })
  }
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, altKey, metaKey } = event
    if (!GAME_KEYS.has(key) || ctrlKey || altKey || metaKey || !isFree() || !isInView(frame)) return
    event.preventDefault()
    give()
  })
}

/**
 * Takes the focus out of the game when a page of the game reports the keys that leave it
 * (clients/browser/frame/escape-key.ts), because a game may keep all keys to itself.
 */
export function leaveByKey(frame: HTMLIFrameElement): void {
  addEventListener('message', ({ data, source }) => {
    if (data?.type !== 'service:leave' || !isInside(source, frame.contentWindow)) return
    endFullScreen()
    if (document.fullscreenElement) void document.exitFullscreen()
    document.querySelector<HTMLElement>('[data-past-game]')?.focus()
  })
}

/** Whether a message comes from the frame or from one in it. */
function isInside(source: MessageEventSource | null, game: Window | null): boolean {
  for (let page = source as Window | null; page && page !== window; page = page.parent) if (page === game) return true
  return false
}

/** Whether nothing has the focus, so that keys go to the page. */
const isFree = (): boolean => document.activeElement === null || document.activeElement === document.body

/** Whether at least half of the frame is in view. */
function isInView(frame: HTMLElement): boolean {
  const { top, bottom, height } = frame.getBoundingClientRect()
  return Math.min(bottom, innerHeight) - Math.max(top, 0) >= height / 2
}
