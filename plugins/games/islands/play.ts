/**
 * The play page: opens the game for a signed-in player, or when its cover is pressed, gives it the keyboard, and offers
 * full screen.
 */

import { offerOwnPage } from './play/denied-storage.ts'
import { leadToSignIn, openFrame } from './play/frame.ts'
import { offerFullScreen } from './play/full-screen.ts'
import { giveKeyboardTo, leaveByKey } from './play/keyboard.ts'
import { fitWindow } from './play/window-height.ts'

const place = document.querySelector<HTMLElement>('.play')
const cover = place?.querySelector<HTMLElement>('[data-cover]')
const start = cover?.querySelector<HTMLButtonElement>('[data-start]')

if (place) fitWindow(place)
if (place && cover && start) {
  start.hidden = false
  start.addEventListener('click', () => {
    cover.remove()
    open(place, { givesKeyboard: true })
  })
} else if (place) open(place, { givesKeyboard: place.dataset.elsewhere === undefined })

/** Opens the game, or takes over the frame that the page has. @param givesKeyboard whether the game gets it at its load */
function open(place: HTMLElement, { givesKeyboard }: { givesKeyboard: boolean }): void {
  const isNew = place.dataset.src !== undefined
  const frame = isNew ? openFrame(place) : place.querySelector('iframe')
  if (!frame) return
  giveKeyboardTo(frame, { atLoad: givesKeyboard })
  offerFullScreen(place, frame)
  leaveByKey(frame)
  leadToSignIn(frame)
  offerOwnPage(place, frame)
  if (isNew || document.readyState !== 'complete') showWaiting(frame, isNew)
}

/** Shows that the game is loading. If it has loaded already, no message appears. */
function showWaiting(frame: HTMLIFrameElement, isNew: boolean): void {
  const waiting = document.querySelector<HTMLElement>('[data-waiting]')
  if (!waiting) return
  waiting.hidden = false
  const show = () => {
    waiting.hidden = true
  }
  frame.addEventListener('load', show, { once: true })
  // The window's load event follows that of its initial frames, so it covers a missed event of the frame.
  if (!isNew) addEventListener('load', show, { once: true })
}
