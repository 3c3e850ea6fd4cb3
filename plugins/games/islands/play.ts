/** The play page: opens the game for a signed-in player, gives it the keyboard, and offers full screen. */
import { openSignedIn } from './play/frame.ts'
import { offerFullScreen } from './play/full-screen.ts'
import { giveKeyboardTo, leaveByKey } from './play/keyboard.ts'
import { fitWindow } from './play/window-height.ts'

const place = document.querySelector<HTMLElement>('.play')
const frame = place?.dataset.ticket ? openSignedIn(place) : place?.querySelector('iframe')

if (frame) giveKeyboardTo(frame, { atLoad: place?.dataset.elsewhere === undefined })

if (place) fitWindow(place)
if (place && frame) {
  offerFullScreen(place, frame)
  leaveByKey(frame)
}

/** Shows that the game is loading. If it has loaded already, no message appears. */
const waiting = document.querySelector<HTMLElement>('[data-waiting]')

if (frame && waiting && (place?.dataset.ticket || document.readyState !== 'complete')) {
  waiting.hidden = false
  const show = () => {
    waiting.hidden = true
  }
  frame.addEventListener('load', show, { once: true })
  // The window's load event follows that of its initial frames, so it covers a missed event of the frame.
  if (!place?.dataset.ticket) addEventListener('load', show, { once: true })
}
