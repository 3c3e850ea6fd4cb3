/** Shows the full-screen button, where the browser has full screen at all (a phone's may not). */
const frame = document.querySelector<HTMLIFrameElement>('.play iframe')
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

if (frame && waiting && document.readyState !== 'complete') {
  waiting.hidden = false
  const show = () => {
    waiting.hidden = true
  }
  frame.addEventListener('load', show, { once: true })
  // The window is complete when its frames are: whatever the frame's own event was missed for.
  addEventListener('load', show, { once: true })
}
