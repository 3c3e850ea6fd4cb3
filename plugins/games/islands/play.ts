/** The play page: opens the game for a signed-in player, says that it is on its way, offers full screen. */
import { openSignedIn } from './play/frame.ts'

const place = document.querySelector<HTMLElement>('.play')
const frame = place?.dataset.ticket ? openSignedIn(place) : place?.querySelector('iframe')

/** Shows the full-screen button, where the browser has full screen at all (a phone's may not). */
const button = document.querySelector<HTMLButtonElement>('[data-full-screen]')

if (frame && button && document.fullscreenEnabled) {
  button.hidden = false
  button.addEventListener('click', async () => {
    await frame.requestFullscreen()
    frame.focus()
  })
}

/** Says that the game is on its way, until it is; where it is there already, nothing flashes. */
const waiting = document.querySelector<HTMLElement>('[data-waiting]')

if (frame && waiting && (place?.dataset.ticket || document.readyState !== 'complete')) {
  waiting.hidden = false
  const show = () => {
    waiting.hidden = true
  }
  frame.addEventListener('load', show, { once: true })
  // The window is complete when the frames that it came with are: whatever the frame's own event was missed for.
  if (!place?.dataset.ticket) addEventListener('load', show, { once: true })
}
