/** The number of presses of Escape that leave the game, and the time in ms between two of them. */
const PRESSES = 3
const PATIENCE_MS = 1000

/**
 * Lets the keyboard out of a game that keeps all keys to itself (WCAG 2.1.2): three presses of Escape in a row tell the
 * play page around it, which takes the focus. The listener is the first of the page, so no other one can stop the event.
 *
 * @param portal origin of the play page
 */
export function leaveByEscape(portal: string): void {
  let presses = 0
  let last = Number.NEGATIVE_INFINITY
  addEventListener(
    'keydown',
    ({ key, repeat, timeStamp }) => {
      if (repeat) return
      presses = key !== 'Escape' ? 0 : timeStamp - last < PATIENCE_MS ? presses + 1 : 1
      last = timeStamp
      if (presses < PRESSES) return
      presses = 0
      window.top?.postMessage({ type: 'service:leave' }, portal)
    },
    true,
  )
}
