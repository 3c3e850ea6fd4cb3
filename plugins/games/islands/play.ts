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
